"""bench.rpc measures only complete replies, and reports incomplete ones."""

from bench.rpc import Question, answered, figure_note, questions, rows_of, synthetic_chain
from node.app.service import new_service
from node.devchain.devchain import DevChain
from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from state.plugins.registry import PLUGINS

HALF = Question("", "", [], rows=100, reference=41)


def test_generated_chain_fills_every_reply() -> None:
    chain = synthetic_chain()
    service = new_service(chain, Processor(chain), DevChain(chain, ChainClock()), tuple(PLUGINS))
    asked = list(questions(chain))
    assert {question.rows for question in asked} >= {1, 20, 50, 100, 1000}
    for question in asked:
        assert rows_of(answered(service, question.body)) >= question.rows, question.what


def test_incomplete_reply_has_no_figure() -> None:
    assert figure_note(HALF, 99, is_compared=True) == figure_note(HALF, 99, is_compared=False) == "ONLY 99 OF 100 ROWS"
    assert figure_note(HALF, 100, is_compared=True) == "reference    41"
    assert figure_note(HALF, 100, is_compared=False) == ""


def test_reply_rows_are_counted() -> None:
    for result, rows in (("[]", 0), ("[1,2]", 2), ("{}", 1), ('{"a":1}', 1), ('{"accounts":[]}', 0), ('{"block":{"a":[],"b":[1]}}', 1)):
        assert rows_of(b'{"result":%s}' % result.encode()) == rows

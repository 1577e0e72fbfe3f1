"""`@method` declares an annotated function as an RPC method. `bind` binds the method to a chain and to its context objects.

Source: rpc-api.md §1.5, §1.9, §1.13.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cache, partial
from operator import attrgetter
from typing import Any, TypeVar, get_type_hints

from msgspec import Struct

from rpc.caller import Caller
from rpc.declare.arguments import APPBASE, LEGACY, Argument, Form, argument, object_reader
from rpc.declare.errors import BadArgument, InvalidParameters, NotEnabled
from rpc.declare.plugin_switches import Switch, names_of
from rpc.declare.record_encoder import RecordEncoder
from state.protocol.errors import ChainError, Refused
from state.protocol.transaction import Wire
from state.protocol.values.convert import to_array
from state.protocol.work import ARGUMENTS, TooMuchWork

POSITIONAL_GROUP = "condenser_api"
UNCONVERTED_GROUP = "bridge"
TEST_GROUP = "dev_api"
# Maximum number of values in the arguments of a call without local rights, and the number of values for which one unit of work pays.
VALUES_MAX, VALUES_PER_UNIT = 12_000, 3

MethodFunction = TypeVar("MethodFunction", bound=Callable[..., Any])
Call = Callable[[Any, Caller], Any]  # a function from params and caller to the result
# Context objects that differ per connection.
SESSION, CALLER = "session", "caller"
# Context objects that change only when the chain changes.
CHAIN_OBJECTS = frozenset({"state", "chain", "show", "wire", "spec"})
# Context objects that exist only in the process that owns the chain.
OWNER_OBJECTS = frozenset({"processor", "devchain", "explainer", "series"})


class Parameter(Struct, frozen=True):
    """A declared argument. If `default` is inspect.Parameter.empty, a missing argument gets the default of its type."""

    name: str
    annotation: Any
    default: Any

    def shown(self, wire: Wire) -> str:
        """Return the argument's name, with the brand and symbols of the chain."""
        return wire.spec.spell(self.name.rstrip("_"))

    @property
    def required(self) -> bool:
        """Whether a call with positional arguments must contain the argument."""
        return self.default is inspect.Parameter.empty


class Method(Struct, frozen=True, kw_only=True):
    """A declared RPC method."""

    name: str
    function: Callable[..., Any]
    declared: Callable[..., Any]  # the decorated function, which has the declared signature; `function` can be a wrapper of it
    required: int
    renamed: str
    form: Form
    raw: bool
    plugins: tuple[str, ...]
    not_enabled: Refused | None
    loopback_only: bool
    needs_local: bool
    of_process: bool
    key: str
    record: Any
    description: str
    waits: bool

    @property
    def context(self) -> tuple[str, ...]:
        """The names of the context objects that the function takes."""
        return _context(self.declared)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The arguments in declared order."""
        return _parameters(self.declared, self.required, self.renamed)

    @property
    def returns(self) -> Any:
        """The annotation of the result."""
        return _signature(self.declared).returns

    @property
    def group(self) -> str:
        """The API group of the method, for example `condenser_api`."""
        return self.name.split(".")[0]

    @property
    def needs_session(self) -> bool:
        """Whether the method can be called only over a WebSocket."""
        return SESSION in self.context

    @property
    def needs_caller(self) -> bool:
        """Whether the function takes the caller as a context object, for example to broadcast."""
        return CALLER in self.context

    @property
    def needs_owner(self) -> bool:
        """Whether only the process that owns the chain can answer a call, because the method changes the chain or describes the node."""
        return not (self.needs_session or self.of_process) and (self.loopback_only or not OWNER_OBJECTS.isdisjoint(self.context))

    @property
    def is_of_chain(self) -> bool:
        """Whether the result of a call depends only on the chain and the arguments."""
        return not (self.waits or self.loopback_only or self.needs_local) and CHAIN_OBJECTS.issuperset(self.context)

    @property
    def positional(self) -> bool:
        """Whether the method takes its arguments as one array."""
        return self.group == POSITIONAL_GROUP

    @property
    def test_only(self) -> bool:
        """Whether the method is served only on dev chains."""
        return self.group == TEST_GROUP


METHODS: dict[str, Method] = {}


def method(
    name: str,
    *,
    key: str = "",
    record: Any = None,
    required: int = 0,
    renamed: str = "",
    form: Form | None = None,
    raw: bool = False,
    plugin: Switch | tuple[Switch, ...] = (),
    not_enabled: tuple[str, str] | None = None,
    loopback_only: bool = False,
    needs_local: bool = False,
    of_process: bool = False,
    registry: dict[str, Method] = METHODS,
) -> Callable[[MethodFunction], MethodFunction]:
    """Declare the decorated function as the RPC method `group.name`. The function's signature is the rest of the declaration.

    Parameters before a `/` (without a `/`, only the first one) are context objects (`state`, `processor`, ...), which are passed by name.
    `_state` is an unused state. `session` is the session of the caller's WebSocket; the method then isn't served over HTTP. `caller` is the
    client. Both must be the last context object. The other parameters are arguments. An `async` function may wait, as for a broadcast. All
    other functions return at once.

    * `key`: the reply is an object with this name as its only member, whose value is the function's result.
    * `record`: the record or kind as which the JSON objects of the result are encoded.
    * `required`: how many of the first arguments have no default in this group.
    * `renamed`: the name of the first argument in this group.
    * `form`: the JSON form. The default is LEGACY for condenser_api and APPBASE for all other groups.
    * `raw`: the function gets the params without conversion.
    * `plugin`: the method is served only if one of these plugins or optional groups is enabled. Otherwise a call is refused with
      `not_enabled` (condition, text), or as an unknown method if that is missing.
    * `loopback_only`: the method is visible only to clients with local rights.
    * `needs_local`: the method is visible to all clients, but only those with local rights may call it.
    * `of_process`: the method describes the process that answers. Reader processes therefore answer it themselves.
    """

    def declare(function: MethodFunction) -> MethodFunction:
        assert name.count(".") == 1, f"{name} must be group.method"
        assert name not in registry, f"{name} is declared twice"
        declared = Method(
            name=name,
            function=function,
            declared=function,
            key=key,
            record=record,
            required=required,
            renamed=renamed,
            form=form or (LEGACY if name.split(".")[0] == POSITIONAL_GROUP else APPBASE),
            raw=raw,
            plugins=names_of(plugin),
            not_enabled=None if not_enabled is None else Refused(not_enabled[1], condition=not_enabled[0]),
            loopback_only=loopback_only,
            needs_local=needs_local,
            of_process=of_process,
            waits=inspect.iscoroutinefunction(function),
            description=inspect.getdoc(function) or "",
        )
        assert declared.description, f"{name} needs a docstring"
        assert not raw or len(_names(function)) == _count_context(function) + 1, f"{name} takes the whole params"
        assert not {SESSION, CALLER}.intersection(declared.context[:-1]), f"{name}: session or caller is the last of what it works on"
        is_told = declared.needs_session or declared.needs_caller
        assert not (is_told and (raw or declared.group == UNCONVERTED_GROUP)), f"{name} has arguments of its own"
        registry[name] = declared
        return function

    return declare


def bind(method: Method, wire: Wire, context: Mapping[str, Any]) -> Call:
    """Return a function that calls a method with given params on one chain. All methods can take `show` as a context object.

    If the context contains `guard`, it gets each method and its function, and returns the function to call instead. The converters of the
    arguments are built at the first call, since most methods are never called.
    """
    missing = [name for name in method.context if name not in context and name not in ("show", SESSION, CALLER)]
    if missing:
        raise TypeError(f"{method.name} needs {missing}, the service has {sorted(context)}")
    read: Callable[[Any], list[Any]] | None = None
    function: Callable[..., Any]
    select_argument = attrgetter(SESSION) if method.needs_session else identity if method.needs_caller else None
    work = context.get("work")

    def call(params: Any, caller: Caller) -> Any:
        nonlocal read, function
        if caller.why_not_local:
            require_few_values(params)
        if read is None:
            read, function = _bind(method, wire, {"show": RecordEncoder(wire, method.form, work), **context})
        values = read(params)
        return function(*values) if select_argument is None else function(select_argument(caller), *values)

    return call


def require_few_values(params: Any) -> None:
    """Refuse arguments that contain more than VALUES_MAX values, since their conversion can't be interrupted."""
    count, lists = 0, [params]
    while lists:
        value = lists.pop()
        if type(value) is dict:
            value = value.values()
        elif type(value) is not list:
            continue
        count += len(value)
        if count > VALUES_MAX:
            raise TooMuchWork(ARGUMENTS, VALUES_MAX // VALUES_PER_UNIT, {"values": -(-count // VALUES_PER_UNIT)})
        lists += value


def _bind(method: Method, wire: Wire, context: Mapping[str, Any]) -> tuple[Callable[[Any], list[Any]], Callable[..., Any]]:
    """Return the function that converts the params of a call to arguments, and the function that takes them."""
    function: Callable[..., Any] = partial(method.function, *[context[name] for name in method.context if name not in (SESSION, CALLER)])
    if method.key:
        function = _under_key(method.key, function, method.waits)
    if method.raw:
        return lambda params: [params], function
    if (guard := context.get("guard")) is not None:
        function = guard(method, function)
    if method.group == UNCONVERTED_GROUP:
        return _unconverted(method), function
    members = [argument(parameter.annotation, wire, method.form) for parameter in method.parameters]
    read = _positional(method, members, wire) if method.positional else _named(method, members, wire)
    checks = [(i, member.check) for i, member in enumerate(members) if member.check is not None]

    def read_checked(params: Any) -> list[Any]:
        values = read(params)
        for i, check in checks:
            try:
                check(values[i])
            except ChainError as error:
                raise BadArgument(error, method.parameters[i].shown(wire)) from None
        return values

    return read_checked if checks else read, function


def identity(caller: Caller) -> Caller:
    """Return the caller unchanged."""
    return caller


def refuse(error: Refused, plugins: tuple[str, ...]) -> Call:
    """Return a call function that always raises NotEnabled. It is used for methods whose plugins are not enabled."""

    def call(_params: Any, _caller: Caller) -> Any:
        raise NotEnabled(error, plugins)

    return call


def default_of(parameter: Parameter, member: Argument[Any]) -> Callable[[], Any]:
    """Return a function that returns the default of an argument: the declared default, or else that of the argument's type."""
    if parameter.required:
        return member.default
    declared = parameter.default
    return lambda: declared


class _Signature(Struct, frozen=True):
    """The declared arguments and result of a function."""

    parameters: tuple[Parameter, ...]
    returns: Any


@cache
def _signature(function: Callable[..., Any]) -> _Signature:
    """Return a function's arguments and result type. They are computed on first use, since the node needs few of them while it starts."""
    hints = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[_count_context(function) :]
    return _Signature(tuple(Parameter(p.name, hints[p.name], p.default) for p in parameters), hints.get("return"))


@cache
def _parameters(function: Callable[..., Any], required: int, renamed: str) -> tuple[Parameter, ...]:
    """Return a method's arguments, from the signature of its function. `required` and `renamed` are arguments of the decorator `method`."""
    parameters = _signature(function).parameters
    given = tuple(Parameter(each.name, each.annotation, inspect.Parameter.empty) for each in parameters[:required])
    named = given + parameters[required:]
    return (Parameter(renamed, named[0].annotation, named[0].default), *named[1:]) if renamed else named


def _names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's parameters, in order."""
    return function.__code__.co_varnames[: function.__code__.co_argcount]


@cache
def _context(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the context objects that a function takes."""
    return tuple(name.lstrip("_") for name in _names(function)[: _count_context(function)])


def _count_context(function: Callable[..., Any]) -> int:
    """Return the number of context objects that a function takes: all parameters before the `/`, or one if there is no `/`."""
    return function.__code__.co_posonlyargcount or min(1, function.__code__.co_argcount)


def _under_key(key: str, function: Callable[..., Any], waits: bool) -> Callable[..., Any]:
    """Wrap a function so that its result becomes the member `key` of an object. With `waits`, both functions are async."""

    async def wait(*values: Any) -> dict[str, Any]:
        return {key: await function(*values)}

    return wait if waits else lambda *values: {key: function(*values)}


def _named(method: Method, members: list[Argument[Any]], wire: Wire) -> Callable[[Any], list[Any]]:
    """Return a function that reads named arguments. null and [] stand for no arguments. Other arrays contain them in declared order."""
    names = [parameter.name.rstrip("_") for parameter in method.parameters]
    fields = [
        (name, member.read, default_of(parameter, member))
        for name, member, parameter in zip(names, members, method.parameters, strict=True)
    ]
    read = object_reader(fields, wire)

    def read_named(params: Any) -> list[Any]:
        if params is None:
            params = {}
        elif type(params) is list:
            params = dict(zip(names, params, strict=False))
        return read(params)

    return read_named


def _positional(method: Method, members: list[Argument[Any]], wire: Wire) -> Callable[[Any], list[Any]]:
    """Return a function that reads positional arguments. It treats an empty object as an empty array."""
    readers = [member.read for member in members]
    defaults = [default_of(parameter, member) for parameter, member in zip(method.parameters, members, strict=True)]
    most = len(members)
    least = sum(parameter.required for parameter in method.parameters)
    condition, text = count_texts(least, most)

    def read_positional(params: Any) -> list[Any]:
        if type(params) is not list:
            params = [] if params == {} else to_array(params)
        count = len(params)
        if not least <= count <= most:
            raise Refused(text, condition=condition, n=count)
        values: list[Any] = []
        try:
            for read, value in zip(readers, params, strict=False):
                values.append(read(value))
        except (ChainError, BadArgument) as error:
            raise BadArgument(error, method.parameters[len(values)].shown(wire)) from None
        if count < most:
            values += [default() for default in defaults[count:]]
        return values

    return read_positional


def _unconverted(method: Method) -> Callable[[Any], list[Any]]:
    """Return a function that reads named or positional arguments without converting them. It refuses unknown names and a wrong number of
    arguments (social.md §3.1).
    """
    names = [parameter.name for parameter in method.parameters]

    def read(params: Any) -> list[Any]:
        if type(params) is list:
            if len(params) > len(names):
                raise InvalidParameters("too many positional arguments")
            params = dict(zip(names, params, strict=False))
        elif params is None:
            params = {}
        elif type(params) is not dict:
            raise InvalidParameters("parameters must be an object or an array")
        unknown = next((name for name in params if name not in names), None)
        missing = next((one.name for one in method.parameters if one.required and one.name not in params), None)
        if missing is not None:
            raise InvalidParameters(f"missing a required argument: '{missing}'")
        if unknown is not None:
            raise InvalidParameters(f"got an unexpected keyword argument '{unknown}'")
        return [params.get(one.name, one.default) for one in method.parameters]

    return read


def count_texts(least: int, most: int) -> tuple[str, str]:
    """Return condition and message of the refusal for a wrong number of arguments. As in the reference, the message contains a literal
    `#s`.
    """
    if least == most:
        return f"args.size() == {most}", "Expected #s argument(s), was ${n}"
    if most == least + 1:
        return f"args.size() == {least} || args.size() == {most}", f"Expected {least}-{most} arguments, was ${{n}}"
    return f"args.size() >= {least} && args.size() <= {most}", f"Expected {least}-{most} argument, was ${{n}}"

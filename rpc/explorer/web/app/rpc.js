// What components hear of the node that has served this page, and of nobody else, when they ask.
import { RpcError, call } from "./calls.js";
import { useCallback, useEffect, useRef, useState } from "./html.js";

export { RpcError, call };

// What a component shows of a call: {result, error, again}. It is made anew when `key` changes, which is the params unless it is given:
// the number of the head block, for instance, keeps a page up to date. An empty method is no call. The last result stays until the
// next one is there.
export function useCall(method, params = {}, key = "") {
  return useAnswer(() => (method ? call(method, params) : null), `${method} ${JSON.stringify(params)} ${key}`, `${method} ${JSON.stringify(params)}`);
}

// The same for any asynchronous function; what was there for another `subject` is not shown any more.
export function useAnswer(ask, key, subject = key) {
  const [state, setState] = useState({ result: undefined, error: null, subject });
  const [round, setRound] = useState(0);
  const latest = useRef(0);
  useEffect(() => {
    const mine = (latest.current += 1);
    const settle = (answer) => mine === latest.current && setState({ result: undefined, error: null, ...answer, subject });
    const asked = ask();
    if (asked) asked.then((result) => settle({ result }), (error) => settle({ error }));
    return () => {
      latest.current += 1;
    };
  }, [key, round]);
  const again = useCallback(() => setRound((n) => n + 1), []);
  return state.subject === subject ? { ...state, again } : { result: undefined, error: null, again };
}

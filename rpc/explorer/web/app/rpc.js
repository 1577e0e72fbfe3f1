// What components hear of the node that has served this page, and of nobody else: results of calls, notices over a WebSocket, and the
// stream of blocks.
import { RpcError, call } from "./calls.js";
import { useCallback, useEffect, useRef, useState } from "./html.js";

export { RpcError, call };

const RETRY_MILLISECONDS = [500, 1000, 2000, 5000];

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

// Calls `onNotice` with what dev_api.subscribe sends of a kind, as long as the returned function isn't called. Where the node
// refuses (pages of other machines have no local rights), `onRefused` hears it once.
export function subscribe(kind, onNotice, onRefused = () => {}) {
  let socket;
  let isOver = false;
  let tries = 0;
  const open = () => {
    socket = new WebSocket(`ws://${location.host}/`);
    socket.onopen = () => socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "dev_api.subscribe", params: { kind } }));
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.method === "dev_api.notice") onNotice(message.params);
      else if (message.error) {
        isOver = true;
        socket.close();
        onRefused(new RpcError(message.error));
      } else tries = 0;
    };
    socket.onclose = () => {
      if (!isOver) setTimeout(() => isOver || open(), wait(tries++));
    };
  };
  open();
  return () => {
    isOver = true;
    socket.close();
  };
}

// Calls `onLine` with each line of the stream of blocks, and `onState` with whether the node can be heard, until the returned
// function is called. After a break it goes on with the next block.
export function followBlocks(onLine, onState) {
  const stop = new AbortController();
  const follow = async () => {
    let next = null;
    let tries = 0;
    while (!stop.signal.aborted) {
      try {
        const reply = await fetch(`/stream/blocks${next === null ? "" : `?from=${next}`}`, { signal: stop.signal });
        if (!reply.ok) throw new Error(await reply.text());
        onState(true);
        tries = 0;
        for await (const line of linesOf(reply.body)) {
          if (line.undone) next = line.undone.first;
          else if (line.block_num) next = line.block_num + 1;
          if (line.error) throw new Error(line.error);
          onLine(line);
        }
      } catch {
        // A node that has begun anew may not have the block that would be next.
        if (tries > 1) next = null;
      }
      if (stop.signal.aborted) return;
      onState(false);
      await new Promise((resolve) => setTimeout(resolve, wait(tries++)));
    }
  };
  follow();
  return () => stop.abort();
}

async function* linesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) yield JSON.parse(line);
  }
}

function wait(tries) {
  return RETRY_MILLISECONDS[Math.min(tries, RETRY_MILLISECONDS.length - 1)];
}

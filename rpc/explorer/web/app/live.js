// The one WebSocket of a page, over which it hears of what happens. It is there while somebody may look: given back when the page is left,
// kept for the way back, or a while in the background, and taken up again. It imports nothing.
const RETRY_MILLISECONDS = [500, 1000, 2000, 5000];
const PATIENCE_MILLISECONDS = 10_000; // for the answer to the first request
const GOOD_MILLISECONDS = 10_000; // what lasted so long is tried again soon
const BACKGROUND_MILLISECONDS = 60_000;

// Makes `calls`, pairs of a method and its params, whenever it is connected. `onNotice` gets what is sent from then on, `onAnswers` the
// answers to the calls; both mean that the node is heard. `onLost` is called after each attempt that fails, and each end that nobody here wanted.
export function listen(calls, { onNotice, onAnswers, onLost }) {
  const asked = JSON.stringify(calls.map(([method, params], id) => ({ jsonrpc: "2.0", id, method, params })));
  let socket = null;
  let tries = 0;
  let due = null; // the next attempt
  let leaving = null;

  function open() {
    const mine = new WebSocket(`${location.protocol.replace("http", "ws")}//${location.host}/`);
    const patience = setTimeout(() => mine.close(), PATIENCE_MILLISECONDS);
    let heardAt = Infinity;
    socket = mine;
    mine.onopen = () => mine.send(asked);
    mine.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.params) return onNotice(message.params);
      // Without what is asked for first a connection is of no use.
      if (!message[0] || message[0].error) return mine.close();
      clearTimeout(patience);
      heardAt = Date.now();
      onAnswers(message);
    };
    mine.onclose = () => {
      clearTimeout(patience);
      if (socket !== mine) return;
      socket = null;
      if (Date.now() - heardAt > GOOD_MILLISECONDS) tries = 0;
      // Not all pages at the same time, when a node has begun anew.
      const wait = RETRY_MILLISECONDS[Math.min(tries++, RETRY_MILLISECONDS.length - 1)] * (0.5 + Math.random());
      due = setTimeout(open, wait);
      onLost();
    };
  }

  function giveBack() {
    const left = socket;
    socket = null;
    clearTimeout(due);
    due = null;
    if (!left) return;
    left.onmessage = null;
    // To close one that isn't open yet is told as an error in the console.
    if (left.readyState === WebSocket.OPEN) left.close();
    else left.onopen = () => left.close();
  }

  function takeUp() {
    clearTimeout(leaving);
    if (document.hidden) leaving = setTimeout(giveBack, BACKGROUND_MILLISECONDS);
    else if (!socket) {
      clearTimeout(due);
      open();
    }
  }

  addEventListener("pagehide", giveBack);
  addEventListener("pageshow", takeUp);
  document.addEventListener("visibilitychange", takeUp);
  open();
  takeUp();
}

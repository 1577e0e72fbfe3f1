// The market of COIN and SBD: the ticker, candles, the order book as a picture and as tables, and the last trades.
import { callPlain, usePlain } from "../brand.js";
import { milliseconds, now, useChain } from "../chain.js";
import { amount, amountText, approximate, durationText, numberText, percentText, timeText } from "../format.js";
import { html } from "../html.js";
import { Chart, roughText } from "../parts/chart.js";
import { OnlyHere } from "../parts/fork.js";
import { Answer, Card, Chips, Facts, Page, Table } from "../parts/layout.js";
import { Account } from "../parts/names.js";
import { feedWords } from "../parts/price.js";
import { BlockLink, Money, Time } from "../parts/values.js";
import { setQuery } from "../router.js";
import { useAnswer } from "../rpc.js";

const TRADES = 30;
const ORDERS = 200;
const ORDERS_SHOWN = 15;
const CANDLES = 120;
const PRICE_DIGITS = 6;

export default function Market({ query }) {
  const { head, overview } = useChain();
  const [coin, debt] = overview.tokens;
  const price = `${debt.symbol} per ${coin.symbol}`;
  const ticker = usePlain("market_history_api.get_ticker", {}, head);
  const isOff = /Could not find API|not enabled/.test(ticker.error?.message ?? "");
  const book = useAnswer(() => loadBook(coin, debt), `${head}`, "book");
  return html`
    <${Page} title="Market" heading=${`Market of ${coin.symbol} and ${debt.symbol}`}>
      <${OnlyHere} />
      ${isOff
        ? html`<p class="note">This node keeps no history of the market: no trades and no prices. Start it with${" "}
          <code>--enable market_history</code>.</p>`
        : html`
          <${Ticker} ticker=${ticker} head=${head} price=${price} />
          <${Candles} head=${head} wanted=${query.get("bucket")} debt=${debt} coin=${coin} price=${price} />`}
      <${Card} title="Order book" aside=${`open orders of ${coin.symbol} and ${debt.symbol}, best first`}>
        <${Answer} of=${book}>${(found) => html`<${Book} ...${found} coin=${coin} debt=${debt} price=${price} />`}</${Answer}>
      </${Card}>
      ${!isOff && html`<${Trades} head=${head} coin=${coin} price=${price} />`}
    </${Page}>
  `;
}

function Ticker({ ticker, head, price }) {
  const feed = usePlain("database_api.get_feed_history", {}, head);
  const rate = feed.result?.current_median_history;
  return html`
    <${Card} title="Now">
      <${Answer} of=${ticker}>${(found) => html`
        <${Facts} of=${[
          ["Last price", Number(found.latest)
            ? html`<b>${priceText(found.latest)}</b> ${price} <${Change} percent=${Number(found.percent_change)} /> <span
              class="muted">within 24 hours</span>` : "no trade yet"],
          ["Lowest ask", Number(found.lowest_ask) ? `${priceText(found.lowest_ask)} ${price}` : "nobody sells"],
          ["Highest bid", Number(found.highest_bid) ? `${priceText(found.highest_bid)} ${price}` : "nobody buys"],
          ["Price in force", rate && approximate(rate.quote)
            ? `${priceText(approximate(rate.base) / approximate(rate.quote))} ${price}, ${feedWords(feed.result.price_history.length)}` : null],
          ["Traded lately", html`<${Money} of=${found.coin_volume} /> for <${Money} of=${found.sbd_volume} />`],
        ]} />`}</${Answer}>
    </${Card}>
  `;
}

function Change({ percent }) {
  if (!percent) return html`<span class="badge">unchanged</span>`;
  return html`<span class=${`badge ${percent > 0 ? "good" : "bad"}`}>${percent > 0 ? "+" : "−"}${percentText(Math.round(Math.abs(percent) * 100))}</span>`;
}

// ------------------------------------------------------------------ candles

function Candles({ head, wanted, coin, debt, price }) {
  const sizes = usePlain("market_history_api.get_market_history_buckets");
  const known = sizes.result?.bucket_sizes ?? [];
  const size = known.includes(Number(wanted)) ? Number(wanted) : known.includes(3600) ? 3600 : known[0];
  const answer = useAnswer(() => (size ? loadCandles(size, debt) : null), `${size} ${head}`, `${size}`);
  const choose = html`<${Chips} label="Size of a period" chosen=${size} options=${known.map((seconds) => [seconds, durationText(seconds)])}
    onChoose=${(seconds) => setQuery({ bucket: seconds })} />`;
  return html`
    <${Card} title="Price over time" aside=${known.length ? choose : null}>
      <${Answer} of=${sizes}>${() => html`
        <${Answer} of=${answer}>${(candles) => (candles.length ? html`<${Picture} ...${{ candles, coin, debt, price, size }} />`
          : html`<p class="muted">No trade in the last ${durationText(size * CANDLES)}.</p>`)}</${Answer}>`}</${Answer}>
    </${Card}>
  `;
}

async function loadCandles(size, debt) {
  const end = now() + 1000 * size;
  const start = end - 1000 * size * (CANDLES + 1);
  const { buckets } = await callPlain("market_history_api.get_market_history", { bucket_seconds: size, start: textOf(start), end: textOf(end) });
  return buckets.filter(({ symbol }) => !symbol || symbol.nai === debt.nai).map((bucket) => {
    const at = (part) => (bucket.coin[part] ? bucket.non_coin[part] / bucket.coin[part] : 0);
    const prices = { open: at("open"), high: at("high"), low: at("low"), close: at("close") };
    return { time: milliseconds(bucket.open) / 1000, bucket, ...prices };
  });
}

function textOf(time) {
  return new Date(Math.max(0, time)).toISOString().slice(0, 19);
}

function Picture({ candles, coin, debt, price, size }) {
  const money = (units, token) => amountText({ amount: String(units), precision: token.precision, nai: token.nai });
  const columns = [
    { title: "From (UTC)", cell: ({ bucket }) => html`<span class="nowrap">${timeText(bucket.open)}</span>` },
    { title: "Open", isNumber: true, cell: ({ open }) => priceText(open) },
    { title: "High", isNumber: true, cell: ({ high }) => priceText(high) },
    { title: "Low", isNumber: true, cell: ({ low }) => priceText(low) },
    { title: "Close", isNumber: true, cell: ({ close }) => priceText(close) },
    { title: `Volume, ${coin.symbol}`, isNumber: true, cell: ({ bucket }) => money(bucket.coin.volume, coin) },
    { title: `Volume, ${debt.symbol}`, isNumber: true, cell: ({ bucket }) => money(bucket.non_coin.volume, debt) },
  ];
  const x = candles.map(({ time }) => time);
  return html`
    <${Chart} x=${x} sync="market" unit=${`${price}, a candle for each ${durationText(size)} with trades; green: the price rose`}
      label=${`Prices in ${price}: ${candles.length} periods of ${durationText(size)}, the last closed at ${priceText(candles.at(-1).close)}`}
      series=${[{ label: "Price", kind: "candles", values: candles, colour: "good" }]} rows=${candles} columns=${columns} step=${size} />
    <${Chart} x=${x} sync="market" height=${110} unit=${coin.symbol} step=${size}
      label=${`Traded ${coin.symbol} in each period`}
      series=${[{ label: "Volume", kind: "bars", values: candles.map(({ bucket }) => bucket.coin.volume / 10 ** coin.precision) }]} />
  `;
}

// ------------------------------------------------------------------ the order book

// The orders of both sides with their owners, best first. The order book of the market's API names no owners.
async function loadBook(coin, debt) {
  const [asks, bids] = await Promise.all([side(coin, debt), side(debt, coin)]);
  return { asks: asks.map((order) => priced(order, coin, debt)), bids: bids.map((order) => priced(order, coin, debt)) };
}

async function side(sold, wanted) {
  const of = (token, units) => ({ amount: String(units), precision: token.precision, nai: token.nai });
  // Orders stand by price, highest first, one market after the other: something for nothing is above all of them.
  const start = [{ base: of(sold, 1), quote: of(wanted, 0) }, 0];
  const { orders } = await callPlain("database_api.list_limit_orders", { start, limit: ORDERS, order: "by_price" });
  return orders.filter(({ sell_price: { base, quote } }) => base.nai === sold.nai && quote.nai === wanted.nai);
}

function priced(order, coin, debt) {
  const { base, quote } = order.sell_price;
  const isAsk = base.nai === coin.nai;
  const worth = (BigInt(order.for_sale) * BigInt(quote.amount)) / BigInt(base.amount);
  const [coins, debts] = isAsk ? [BigInt(order.for_sale), worth] : [worth, BigInt(order.for_sale)];
  const price = isAsk ? approximate(quote) / approximate(base) : approximate(base) / approximate(quote);
  return { ...order, price, coins: { amount: String(coins), precision: coin.precision, nai: coin.nai },
    debts: { amount: String(debts), precision: debt.precision, nai: debt.nai } };
}

function Book({ asks, bids, coin, debt, price }) {
  if (!asks.length && !bids.length) return html`<p class="muted">There are no open orders.</p>`;
  const columns = [
    { title: `Price, ${price}`, isNumber: true, cell: (order) => priceText(order.price) },
    { title: coin.symbol, isNumber: true, cell: ({ coins }) => amountText(coins).split(" ")[0] },
    { title: debt.symbol, isNumber: true, cell: ({ debts }) => amountText(debts).split(" ")[0] },
    { title: "Owner", cell: ({ seller }) => html`<${Account} name=${seller} />` },
    { title: "Ends", cell: ({ expiration }) => html`<${Time} at=${expiration} isShort />` },
  ];
  const part = (rows, words, nothing) => html`
    <div>
      <h3>${words}</h3>
      <${Table} caption=${words} columns=${columns} rows=${rows.slice(0, ORDERS_SHOWN)} nothing=${nothing} />
      ${rows.length > ORDERS_SHOWN && html`<details><summary class="muted small">${rows.length === ORDERS ? `The next ${ORDERS - ORDERS_SHOWN}`
        : `${numberText(rows.length - ORDERS_SHOWN)} more`}</summary>
        <${Table} caption=${`More: ${words}`} columns=${columns} rows=${rows.slice(ORDERS_SHOWN)} /></details>`}
    </div>`;
  return html`
    <${Depth} asks=${asks} bids=${bids} coin=${coin} price=${price} />
    <div class="grid">
      ${part(bids, `Bids: who buys ${coin.symbol}`, "Nobody buys.")}
      ${part(asks, `Asks: who sells ${coin.symbol}`, "Nobody sells.")}
    </div>
  `;
}

// How much could be bought and sold up to each price. Orders far from the best ones would make the middle too narrow to be read.
const FAR = 2;

function Depth({ asks, bids, coin, price }) {
  const bid = bids[0]?.price;
  const ask = asks[0]?.price;
  const near = [...added(bids.filter((order) => order.price >= bid / FAR)).reverse(), ...added(asks.filter((order) => order.price <= ask * FAR))];
  const isBid = (i) => i < near.findIndex(({ order }) => order === asks[0]) || !asks.length;
  const bought = near.map(({ sum }, i) => (isBid(i) ? sum : null));
  const sold = near.map(({ sum }, i) => (isBid(i) ? null : sum));
  const columns = [
    { title: `Price, ${price}`, isNumber: true, cell: ({ order }) => priceText(order.price) },
    { title: `${coin.symbol} up to it`, isNumber: true, cell: ({ sum }) => roughText(sum) },
    { title: "Side", cell: ({ order }) => (order.sell_price.base.nai === coin.nai ? "ask" : "bid") },
  ];
  return html`
    <${Chart} x=${near.map(({ order }) => order.price)} isTime=${false} xLabel="at" from=${0} height=${200}
      unit=${`${coin.symbol} that can be traded up to a price in ${price}`}
      label=${`Depth of the market: ${bid ? `bids from ${priceText(bid)} down` : "no bids"}, ${ask ? `asks from ${priceText(ask)} up` : "no asks"}`}
      series=${[
        { label: "Bids", kind: "steps-before", values: bought, colour: "good" },
        { label: "Asks", kind: "steps", values: sold, colour: "bad" },
      ]} rows=${near} columns=${columns} />
  `;
}

function added(orders) {
  let sum = 0;
  return orders.map((order) => ({ order, sum: (sum += approximate(order.coins)) }));
}

// ------------------------------------------------------------------ trades

function Trades({ head, coin, price }) {
  const answer = usePlain("explorer_api.list_trades", { limit: TRADES }, head);
  const rows = (trades) => trades.map((trade) => {
    const { taker_paid: given, maker_paid: got } = trade;
    const isSale = amount(given).symbol === coin.symbol;
    const [coins, others] = isSale ? [given, got] : [got, given];
    return { ...trade, isSale, coins, others, price: approximate(others) / approximate(coins) };
  });
  const owner = (name) => (name ? html`<${Account} name=${name} />` : "–");
  const columns = [
    { title: "When", cell: ({ time }) => html`<${Time} at=${time} isShort />` },
    { title: "Taker", cell: ({ taker }) => owner(taker) },
    { title: "Maker", cell: ({ maker }) => owner(maker) },
    { title: `Price, ${price}`, isNumber: true, cell: (trade) => priceText(trade.price) },
    { title: "Amount", isNumber: true, cell: ({ coins }) => html`<${Money} of=${coins} />` },
    { title: "For", isNumber: true, cell: ({ others }) => html`<${Money} of=${others} />` },
    { title: "Taken", cell: ({ isSale }) => html`<span class=${`badge ${isSale ? "bad" : "good"}`}>${isSale ? "bid: sold" : "ask: bought"}</span>` },
    { title: "Block", isNumber: true, cell: ({ block_num: block }) => (block ? html`<${BlockLink} number=${block} />` : "–") },
  ];
  return html`
    <${Card} title="Last trades" aside="newest first">
      <${Answer} of=${answer}>${(trades) => html`<${Table} caption="Last trades" columns=${columns} rows=${rows(trades)}
        nothing="Nobody has traded yet." />`}</${Answer}>
    </${Card}>
  `;
}

function priceText(price) {
  const value = Number(price);
  return value ? (value >= 1000 ? roughText(value) : value.toFixed(PRICE_DIGITS)) : "–";
}

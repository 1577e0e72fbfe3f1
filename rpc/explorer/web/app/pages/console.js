// Any method of the node, from its declaration: what it takes as a form, what it answers, and the same as a command.
import { useChain } from "../chain.js";
import { curlOf, jsonWord, nodeWord } from "../clients.js";
import { bytesText, numberText } from "../format.js";
import { html, useEffect, useRef, useState, useStyle } from "../html.js";
import { Answer, Card, Page, Problem, Table } from "../parts/layout.js";
import { Copy, Json } from "../parts/values.js";
import { Link, path, setQuery } from "../router.js";
import { call, useAnswer } from "../rpc.js";
import { EMPTY, exampleOf, formOf, listedText, paramsOf, resolved } from "../schemas.js";

const SHOWN_MAX = 100_000; // characters of a result
const ADDRESS_MAX = 1500; // characters of params that the address holds

// The declarations are large, and the same as long as the page is there. `sought` stays while one goes from method to method.
let asked = null;
let sought = "";

export default function Console({ method, query }) {
  useStyle("details");
  const answer = useAnswer(discover, "discover");
  return html`
    <${Page} title=${method ?? "Console"} heading=${method ? html`<span class="mono">${broken(method)}</span>` : "Console"}>
      <${Answer} of=${answer}>${(document) => html`
        <div class="console">
          <${Methods} of=${document} chosen=${method} />
          <div>${method ? html`<${Method} of=${document} name=${method} query=${query} />` : html`<${Start} of=${document} />`}</div>
        </div>`}
      </${Answer}>
    </${Page}>
  `;
}

// A method's name, which may be broken after its words only.
function broken(name) {
  return name.split(/(?<=[._])/).map((word, i) => html`${i ? html`<wbr />` : ""}${word}`);
}

function discover() {
  asked ??= call("rpc.discover").catch((error) => {
    asked = null;
    throw error;
  });
  return asked;
}

function Start({ of }) {
  return html`
    <${Card} title="JSON-RPC">
      <p>The node answers ${numberText(of.methods.length)} methods at <code>${location.origin}
        </code>, by POST and over a WebSocket. Choose one to see what it takes, and to call it.</p>
      <p>All of them, as a machine reads them: <${Link} to=${path.method("rpc.discover")}>rpc.discover</${Link}> is the OpenRPC document
        that these pages are made of.</p>
    </${Card}>
  `;
}

// ------------------------------------------------------------------ the list

function Methods({ of, chosen }) {
  const [text, setText] = useState(sought);
  const list = useRef(null);
  useEffect(() => {
    const here = list.current?.querySelector("[aria-current]");
    if (here) list.current.scrollTop = here.offsetTop - list.current.offsetTop - 60;
  }, []);
  const words = text.toLowerCase().split(/[^a-z0-9_.]+/).filter(Boolean);
  const found = of.methods.filter(({ name, summary }) => words.every((word) => name.includes(word) || summary.toLowerCase().includes(word)));
  const groups = new Map();
  for (const { name } of found) {
    const group = name.split(".")[0];
    groups.set(group, [...(groups.get(group) ?? []), name]);
  }
  const search = (event) => {
    sought = event.target.value;
    setText(sought);
  };
  return html`
    <nav class="card" aria-label="Methods">
      <label class="field">Find a method <input type="search" value=${text} onInput=${search}
        placeholder="name, or what it does" autocomplete="off" spellcheck="false" /></label>
      <p class="muted small" role="status">${numberText(found.length)} of ${numberText(of.methods.length)}</p>
      <div class="methods" ref=${list}>
        ${[...groups].map(([group, names]) => html`
          <details key=${group} open=${words.length > 0 || chosen?.startsWith(`${group}.`)}>
            <summary>${group} <span class="muted small">${names.length}</span></summary>
            <ul>${names.map((name) => html`<li key=${name}><${Link} to=${path.method(name)} aria-current=${name === chosen ? "page" : null}>
              ${broken(name.slice(group.length + 1))}</${Link}></li>`)}</ul>
          </details>
        `)}
      </div>
    </nav>
  `;
}

// ------------------------------------------------------------------ one method

function Method({ of, name, query }) {
  const declared = of.methods.find((method) => method.name === name);
  if (!declared) return html`<${Card} title="Not found"><p>This node has no method <code>${name}
    </code>. Its plugin may be off, or it is for the node's own machine only.</p></${Card}>`;
  return html`
    <${Card} title="What it does" aside=${declared.paramStructure === "by-position" ? "arguments by position" : "arguments by name"}>
      <p>${(declared.description ?? declared.summary).split("`").map((text, i) => (i % 2 ? html`<code>${text}</code>` : text))}</p>
    </${Card}>
    <${Form} of=${of} declared=${declared} query=${query} />
    <${Declaration} of=${of} declared=${declared} />
  `;
}

function Form({ of, declared, query }) {
  const { isLocal } = useChain();
  const fields = declared.params.map((param) => formOf(of, declared, param));
  const [values, setValues] = useState(() => initial(declared, fields, query.get("params")));
  const [outcome, setOutcome] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const asked = useRef(0);
  const set = (name, value) => setValues({ ...values, [name]: value });
  let params = null;
  let problem = null;
  try {
    params = paramsOf(declared, fields, values);
  } catch (error) {
    problem = error;
  }
  const send = async (event) => {
    event.preventDefault();
    if (!params) return;
    const mine = (asked.current += 1);
    setBusy(true);
    const text = JSON.stringify(params);
    setQuery({ params: fields.length && text.length <= ADDRESS_MAX ? text : "" });
    const begin = performance.now();
    const settle = (answer) => {
      if (mine !== asked.current) return;
      setBusy(false);
      setOutcome({ ...answer, milliseconds: performance.now() - begin });
    };
    await call(declared.name, params).then((result) => settle({ result }), (error) => settle({ error }));
  };
  return html`
    <${Card} title="Call it">
      <form onSubmit=${send}>
        ${fields.map((field) => html`
          <${Field} key=${field.name} of=${field} value=${values[field.name]} onChange=${(value) => set(field.name, value)} />`)}
        ${!fields.length && html`<p class="muted">It takes no arguments.</p>`}
        ${problem && html`<p class=${problem.isLacking ? "muted" : "note bad"} role="status">${problem.message}</p>`}
        <p><button class="primary" disabled=${isBusy || Boolean(problem)}>${isBusy ? "Calling…" : "Call"}</button></p>
      </form>
      ${params && html`
        <details>
          <summary>As a command</summary>
          <${Command} text=${curlOf(declared.name, params)} label="curl" />
          ${isLocal && html`<${Command} text=${`bin/coind dev call ${declared.name} ${jsonWord(params)} --url ${nodeWord()}`} label="bin/coind" />`}
        </details>`}
    </${Card}>
    <div role="status">${outcome && html`<${Outcome} of=${outcome} />`}</div>
  `;
}

function Command({ text, label }) {
  return html`<h3>${label} <${Copy} text=${text} /></h3><pre tabindex="0" role="region" aria-label=${`As a command: ${label}`}>${text}</pre>`;
}

// What the fields hold at first: the params of the address, else what the declaration has for an example.
function initial(declared, fields, text) {
  let given = {};
  try {
    const params = JSON.parse(text ?? "{}");
    given = Array.isArray(params) ? Object.fromEntries(fields.map(({ name }, i) => [name, params[i]])) : params ?? {};
  } catch {
    // An address that was cut off: the form begins as without it.
  }
  return Object.fromEntries(fields.map((field) => [field.name, given[field.name] === undefined ? field.initial : listedText(field, given[field.name])]));
}

function Field({ of, value, onChange }) {
  const id = `param-${of.name}`;
  const onInput = (event) => onChange(event.target.value);
  const select = (options) => html`
    <select id=${id} value=${value} onChange=${onInput}>
      ${options.map(([one, words]) => html`<option value=${one} selected=${one === value}>${words}</option>`)}
    </select>
  `;
  const inputs = {
    boolean: () => select([[EMPTY, of.isRequired ? "choose" : "leave out"], ["true", "true"], ["false", "false"]]),
    choice: () => select([...(of.isRequired ? [] : [[EMPTY, "leave out"]]), ...of.options.map((one) => [one, one])]),
    number: () => html`<input id=${id} inputmode="numeric" value=${value} onInput=${onInput} placeholder=${of.placeholder} autocomplete="off" />`,
    text: () => html`<input id=${id} value=${value} onInput=${onInput} placeholder=${of.placeholder} autocomplete="off" spellcheck="false" />`,
    list: () => html`<textarea id=${id} value=${value} onInput=${onInput} spellcheck="false"
      placeholder="one a line, or a list as JSON"></textarea>`,
    json: () => html`<textarea id=${id} value=${value} onInput=${onInput} spellcheck="false" placeholder=${of.placeholder}></textarea>`,
  };
  return html`
    <div class="field">
      <label for=${id}><b class="mono">${of.name}</b> <span class="muted small">
        ${of.words}${of.isRequired ? "" : `, optional${of.default === undefined ? "" : `, otherwise ${JSON.stringify(of.default)}`}`}</span></label>
      ${inputs[of.kind]()}
      ${of.kind === "json" && of.example && html`<div><button type="button" class="plain small" onClick=${() => onChange(of.example)}>Put in an example</button>
        </div>`}
    </div>
  `;
}

function Outcome({ of }) {
  const time = `${of.milliseconds < 10 ? of.milliseconds.toFixed(1) : Math.round(of.milliseconds)} ms`;
  if (of.error)
    return html`
      <${Card} title="Error" aside=${html`${of.error.code ? `code ${of.error.code}, ` : ""}${time}`}>
        <${Problem} error=${of.error} />
        ${of.error.data && html`<details><summary>All that the node said</summary><${Json} of=${of.error.data} label="Data of the error" /></details>`}
      </${Card}>
    `;
  const text = JSON.stringify(of.result, null, 2) ?? "null";
  return html`
    <${Card} title="Result" aside=${html`${time}, ${bytesText(text.length)} <${Copy} text=${text} />`}>
      <pre tabindex="0" role="region" aria-label="Result">${text.slice(0, SHOWN_MAX)}</pre>
      ${text.length > SHOWN_MAX && html`<p class="muted">This is the beginning; copying takes all of it.</p>`}
    </${Card}>
  `;
}

function Declaration({ of, declared }) {
  const { result, errors } = declared;
  return html`
    <${Card} title="What it answers">
      <details><summary>Form of the result</summary><${Json} of=${exampleOf(of, result.schema)} label="An example of the result's form" /></details>
      <details><summary>Its schema</summary><${Json} of=${resolved(of, result.schema)} label="The schema of the result" /></details>
      ${errors?.length > 0 && html`
        <details><summary>How it may refuse</summary>
          <${Table} caption="Errors" rows=${errors} columns=${[
            { title: "Code", cell: ({ code }) => code },
            { title: "Message", cell: ({ message }) => html`<span class="break">${message}</span>` },
          ]} />
        </details>`}
    </${Card}>
  `;
}

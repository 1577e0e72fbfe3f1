// JSON schemas of the node's methods as forms: what kind of input an argument gets, how a text becomes a value, and examples.
const DEPTH_MAX = 6;
const REFERENCE = "#/components/schemas/";

// The text of a field that is left out.
export const EMPTY = "";

// A schema with its reference looked up, and with what stands beside it (`allOf` of one schema, with a default).
export function resolved(document, schema, depth = 0) {
  if (depth > DEPTH_MAX || !schema) return schema ?? {};
  if (schema.$ref) return resolved(document, document.components.schemas[schema.$ref.slice(REFERENCE.length)], depth + 1);
  if (schema.allOf?.length === 1) {
    const { allOf, ...beside } = schema;
    return { ...resolved(document, allOf[0], depth + 1), ...beside };
  }
  return schema;
}

// How an argument is entered: {name, kind, isRequired, words, initial, ...}; kind is text, number, boolean, choice, list or json.
export function formOf(document, declared, param) {
  const schema = resolved(document, param.schema);
  const given = declared.examples?.[0]?.params.find(({ name }) => name === param.name)?.value;
  const field = {
    name: param.name,
    isRequired: param.required,
    kind: kindOf(document, schema),
    words: wordsOf(document, schema),
    default: schema.default,
    options: schema.enum?.map(String),
    member: schema.type === "array" ? resolved(document, schema.items) : null,
    takesText: takes(document, schema, "string"),
    example: "",
    placeholder: "",
    initial: EMPTY,
  };
  if (field.kind === "json") {
    const example = given && JSON.stringify(given).length > 2 ? given : exampleOf(document, schema);
    field.example = JSON.stringify(example, null, 2);
    field.placeholder = field.example.slice(0, 300);
  } else if (schema.default !== undefined && schema.default !== null) field.placeholder = String(schema.default);
  if (param.required && given !== undefined && given !== null && field.kind !== "json") field.initial = listedText(field, given);
  if (param.required && field.kind === "choice") field.initial ||= field.options[0];
  return field;
}

function kindOf(document, schema) {
  if (schema.enum?.every((one) => typeof one === "string")) return "choice";
  if (schema.type === "boolean") return "boolean";
  if (schema.type === "string") return "text";
  const parts = (schema.anyOf ?? []).map((part) => resolved(document, part)).filter(({ type }) => type !== "null");
  if (parts.length === 1) return kindOf(document, parts[0]);
  const hasMembers = takes(document, schema, "object") || takes(document, schema, "array");
  if (!hasMembers && (takes(document, schema, "integer") || takes(document, schema, "number"))) return "number";
  if (schema.type === "array" && schema.items && ["text", "number", "choice"].includes(kindOf(document, resolved(document, schema.items)))) return "list";
  return "json";
}

// Whether a schema takes values of a type, itself or as one of several.
function takes(document, schema, type, depth = 0) {
  if (depth > DEPTH_MAX) return false;
  const one = resolved(document, schema);
  if (one.type === type || (Array.isArray(one.type) && one.type.includes(type))) return true;
  return [...(one.anyOf ?? []), ...(one.oneOf ?? [])].some((part) => takes(document, part, type, depth + 1));
}

function wordsOf(document, schema) {
  const range = schema.maximum === undefined ? "" : `, at most ${schema.maximum}`;
  const words = {
    choice: "one of these", boolean: "yes or no", text: "text", number: `number${range}`, list: "list, one a line or as JSON", json: "JSON",
  };
  const kind = kindOf(document, schema);
  return schema.title ?? (kind === "json" && schema.type ? `${schema.type} as JSON` : words[kind]);
}

// The text that stands for a value in a field.
export function listedText(field, value) {
  if (field.kind === "json") return JSON.stringify(value, null, 2);
  if (field.kind === "list") return Array.isArray(value) ? value.join("\n") : String(value);
  return String(value);
}

// The params of a call from the texts of all fields; what is left out and optional isn't sent. Throws for what can't be read.
export function paramsOf(declared, fields, texts) {
  const isListed = declared.paramStructure === "by-position";
  const found = fields.map((field) => valueOf(field, texts[field.name]));
  if (!isListed) return Object.fromEntries(fields.flatMap((field, i) => (found[i] === undefined ? [] : [[field.name, found[i]]])));
  const last = found.findLastIndex((value) => value !== undefined);
  return found.slice(0, last + 1).map((value, i) => value ?? fields[i].default ?? null);
}

function valueOf(field, text) {
  const { kind, name, isRequired } = field;
  if (text.trim() === EMPTY) {
    if (!isRequired) return undefined;
    if (kind === "text") return "";
    if (kind === "list") return [];
    throw Object.assign(new Error(`${name} is needed.`), { isLacking: true });
  }
  if (kind === "boolean") return text === "true";
  if (kind === "number") return numberOf(name, text.trim(), field.takesText);
  if (kind === "list") {
    if (/^\s*[[{]/.test(text)) return listOf(name, text);
    const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
    return field.member.type === "string" ? lines : lines.map((line) => numberOf(name, line, true));
  }
  if (kind !== "json") return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    // A name alone, where a list or an object may stand as well.
    if (field.takesText && !/^\s*["[{]/.test(text)) return text.trim();
    throw new Error(`${name} is no JSON: ${error.message}`);
  }
}

function listOf(name, text) {
  let list;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new Error(`${name} is no JSON: ${error.message}. Expected: one a line, or a list as JSON`);
  }
  if (!Array.isArray(list)) throw new Error(`${name} is no list: expected one a line, or a list as JSON`);
  return list;
}

// A number; one that JavaScript would round goes as text, which the node reads as well.
function numberOf(name, text, takesText) {
  const number = Number(text);
  if (/^-?\d+$/.test(text)) return Number.isSafeInteger(number) ? number : text;
  if (Number.isFinite(number)) return number;
  if (takesText) return text;
  throw new Error(`${name} is no number: ${text}`);
}

// A value that fits a schema, as an example.
export function exampleOf(document, schema, depth = 0) {
  if (depth > DEPTH_MAX) return null;
  const one = resolved(document, schema);
  if (one.default !== undefined) return one.default;
  if (one.examples?.length) return one.examples[0];
  if (one.const !== undefined) return one.const;
  if (one.enum) return one.enum[0];
  const parts = one.anyOf ?? one.oneOf;
  if (parts) return exampleOf(document, parts[0], depth + 1);
  if (one.allOf) return Object.assign({}, ...one.allOf.map((part) => exampleOf(document, part, depth + 1)));
  const type = Array.isArray(one.type) ? one.type[0] : one.type;
  if (type === "object" || one.properties) {
    const members = Object.entries(one.properties ?? {});
    return Object.fromEntries(members.map(([name, member]) => [name, exampleOf(document, member, depth + 1)]));
  }
  if (type === "array") {
    if (Array.isArray(one.items)) return one.items.map((member) => exampleOf(document, member, depth + 1));
    return one.items ? [exampleOf(document, one.items, depth + 1)] : [];
  }
  if (type === "string") return exampleText(one.pattern ?? "");
  return { integer: one.minimum > 0 ? one.minimum : 0, number: 0, boolean: false }[type] ?? null;
}

// A text for a pattern of those that the node has: times, symbols, hex digits, numbers.
function exampleText(pattern) {
  if (pattern.includes("T\\d\\d")) return "2026-01-31T12:00:00";
  if (pattern.startsWith("^@@")) return "@@000000021";
  const [, digits] = pattern.match(/^\^\[0-9a-f\]\{(\d+)\}/) ?? [];
  if (digits) return "0".repeat(Number(digits));
  return pattern.startsWith("^-?\\d") ? "0" : "";
}

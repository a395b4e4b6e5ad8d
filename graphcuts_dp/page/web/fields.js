// Fields of the form, each from its description by the server.
import { element, show } from "/page/shared.js";
import { allFields, by, live, put, role, state, upload } from "/web/state.js";

let changed = () => {};
export const onChange = (work) => { changed = work; };

function set(field, value) {
  put(field.key, value);
  changed(field);
}

// Whether a field names a column of the private file, rather than of a public list.
const ofPrivateFile = (field) => field.control === "column" && field.key.split(".")[0] === role("from").key.split(".")[0];

function input(field) {
  const id = `f-${field.key}`, value = state.values[field.key] ?? "";
  const shared = { id, "aria-describedby": `${id}-hint`, "data-key": field.key };
  const typed = { ...shared, value, autocomplete: "off", oninput: (event) => set(field, event.target.value), placeholder: field.default ?? "" };
  if (field.control === "check") return element("input", { ...shared, type: "checkbox", checked: value === "yes", onchange: (event) => set(field, event.target.checked ? "yes" : "") });
  const options = ofPrivateFile(field) && live.names.length ? live.names : field.control === "choice" ? field.choices : null;
  if (options) {
    const missing = value && !options.includes(value) ? [value] : [];
    const usual = field.default ? field.words[field.default] ?? field.default : ofPrivateFile(field) ? field.empty : "as usual";
    return element("select", { ...shared, onchange: (event) => set(field, event.target.value) }, ...["", ...missing, ...options].map((each) => element("option", { value: each, selected: each === value, text: each ? field.words[each] ?? each : usual })));
  }
  if (field.control === "number") return element("input", { ...typed, type: "number", step: field.integer ? 1 : "any", min: field.least, max: field.most });
  return element("input", { ...typed, type: "text", spellcheck: "false" });
}

// Where a file is named that is read, it may be dropped, too.
function dropped(field) {
  const into = async (event) => {
    const path = await upload(event.target.files[0]).catch((error) => show(by("missing"), error.message));
    if (!path) return;
    by(`f-${field.key}`).value = path;
    by(`f-${field.key}`).focus();
    set(field, path);
  };
  return element("input", { type: "file", "aria-label": `Or drop the file: ${field.label}`, onchange: into });
}

// A choice whose words are sentences, all to be seen at once.
function radios(field, names) {
  const value = state.values[field.key] ?? field.default ?? "";
  const one = (name) => element("label", {}, element("input", { type: "radio", name: `f-${field.key}`, value: name, "data-key": field.key, checked: name === value, onchange: () => set(field, name) }), element("span", { text: field.words[name] ?? name }));
  return element("fieldset", { class: "choices" }, element("legend", { text: field.label }), ...names.map(one), ...(field.hint ? [element("p", { class: "hint", text: field.hint })] : []));
}

export function one(field, technical) {
  const names = field.kinds ? Object.keys(field.kinds) : field.choices ?? [];
  if (names.length && names.every((name) => field.words[name])) return radios(field, Object.keys(field.words));
  const id = `f-${field.key}`;
  const flag = technical ? [element("code", { text: ` ${field.flag}` })] : [];
  const hint = element("span", { class: "hint", id: `${id}-hint` }, technical ? field.help : field.hint, ...flag);
  const note = element("div", { id: `${id}-note`, role: "status" });
  const control = field.kinds ? kinds(field) : input(field);
  return element("div", { class: "field" }, element("label", { for: id, text: field.label }), control, ...(field.read ? [dropped(field)] : []), hint, note);
}

// A named object of options: its name; its own fields follow it.
function kinds(field) {
  const value = state.values[field.key] ?? "";
  const again = (event) => { set(field, event.target.value); draw(state.step); by(`f-${field.key}`).focus(); };
  return element("select", { id: `f-${field.key}`, "data-key": field.key, "aria-describedby": `f-${field.key}-hint`, onchange: again }, ...["", ...Object.keys(field.kinds)].map((each) => element("option", { value: each, selected: each === value, text: each || "as usual" })));
}

// The fields of a step: a named object by itself, and of the others their own.
function* fieldsOf(step) {
  for (const field of live.products[state.product].fields) {
    if (!field.kinds || field.named) if (field.step === step) yield field;
    const chosen = field.named ? state.values[field.key] ?? "" : "";
    for (const inner of field.kinds?.[chosen] ?? []) if (inner.step === step) yield inner;
  }
}

const ELSEWHERE = ["epsilon", "budget"]; // roles with a place of their own on the page

// Draw a step, with the open details and the focus that it had.
export function draw(step) {
  const place = document.querySelector(`section[data-step="${step}"] .fields`);
  if (!place) return;
  const focused = document.activeElement?.id, open = place.querySelector("details")?.open ?? false;
  const dated = allFields().some((field) => field.role === "date" && state.values[field.key]);
  const all = [...fieldsOf(step)].filter((field) => !ELSEWHERE.includes(field.role));
  const plain = all.filter((field) => (field.shown || (field.required && !field.kinds)) && (dated || !field.dated)).sort((a, b) => a.order - b.order);
  const rest = all.filter((field) => !plain.includes(field));
  const row = (list, technical) => element("div", { class: "row wide-row" }, ...list.map((field) => one(field, technical)));
  const more = element("details", { open }, element("summary", { text: "Details: all other options" }), row(rest, true));
  place.replaceChildren(row(plain, false), ...(rest.length ? [more] : []));
  if (focused && document.activeElement?.id !== focused) by(focused)?.focus();
}

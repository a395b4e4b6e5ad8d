// The fields of a form, which the server describes (`Product.fields`).
import { element, show } from "/page/shared.js";
import { allFields, byId, fieldOfRole, setValue, state, unsaved, upload } from "/web/state.js";

const ROLES_ELSEWHERE = ["epsilon", "budget"]; // these have fields of their own on the page

let onChange = () => {};
export const setChangeListener = (listener) => { onChange = listener; };

function change(field, value) {
  setValue(field.key, value);
  onChange(field);
}

// Draws the fields of a step again. Open details stay open, and the focus stays where it was.
export function draw(step) {
  const container = document.querySelector(`section[data-step="${step}"] .fields`);
  if (!container) return;
  const focusedId = document.activeElement?.id, open = container.querySelector("details")?.open ?? false;
  const hasDateColumn = allFields().some((field) => field.role === "date" && state.values[field.key]);
  const isPlain = (field) => (field.shown || (field.required && !field.kinds)) && (hasDateColumn || !field.needs_date_column);
  const fields = [...fieldsOf(step)].filter((field) => !ROLES_ELSEWHERE.includes(field.role));
  const plainFields = fields.filter(isPlain).sort((a, b) => a.order - b.order);
  const otherFields = fields.filter((field) => !isPlain(field));
  const row = (list, technical) => element("div", { class: "row wide-row" }, ...list.map((field) => fieldElement(field, technical)));
  const details = element("details", { open }, element("summary", { text: "Details: all other options" }), row(otherFields, true));
  container.replaceChildren(row(plainFields, false), ...(otherFields.length ? [details] : []));
  if (focusedId && document.activeElement?.id !== focusedId) byId(focusedId)?.focus();
}

// The fields of a step. A field with kinds is followed by the fields of the kind that is chosen; if its
// kinds have no names, the fields of its one kind stand in its place.
function* fieldsOf(step) {
  for (const field of unsaved.products[state.product].fields) {
    if ((!field.kinds || field.named) && field.step === step) yield field;
    const kind = field.named ? state.values[field.key] ?? "" : "";
    for (const innerField of field.kinds?.[kind] ?? []) if (innerField.step === step) yield innerField;
  }
}

// A field with its label and its hint: in plain words, or in the words of the command.
export function fieldElement(field, technical) {
  const names = field.kinds ? Object.keys(field.kinds) : field.choices ?? [];
  if (names.length && names.every((name) => field.words[name])) return radioButtons(field, Object.keys(field.words));
  const id = `f-${field.key}`;
  const flag = technical ? [element("code", { text: ` ${field.flag}` })] : [];
  const hint = element("span", { class: "hint", id: `${id}-hint` }, technical ? field.help : field.hint, ...flag);
  const note = element("div", { id: `${id}-note`, role: "status" });
  const control = field.kinds ? kindSelect(field) : inputOf(field);
  return element("div", { class: "field" }, element("label", { for: id, text: field.label }), control, ...(field.read ? [fileInput(field)] : []), hint, note);
}

// Radio buttons for choices that are sentences.
function radioButtons(field, names) {
  const value = state.values[field.key] ?? field.default ?? "";
  const radioButton = (name) => element("label", {}, element("input", { type: "radio", name: `f-${field.key}`, value: name, "data-key": field.key, checked: name === value, onchange: () => change(field, name) }), element("span", { text: field.words[name] ?? name }));
  return element("fieldset", { class: "choices" }, element("legend", { text: field.label }), ...names.map(radioButton), ...(field.hint ? [element("p", { class: "hint", text: field.hint })] : []));
}

// A list of the kinds of an object of options. Each kind has fields of its own.
function kindSelect(field) {
  const value = state.values[field.key] ?? "";
  const onchange = (event) => { change(field, event.target.value); draw(state.step); byId(`f-${field.key}`).focus(); };
  return element("select", { id: `f-${field.key}`, "data-key": field.key, "aria-describedby": `f-${field.key}-hint`, onchange }, ...["", ...Object.keys(field.kinds)].map((name) => element("option", { value: name, selected: name === value, text: name || "as usual" })));
}

// True for columns of the private file, and not of a public list.
const isPrivateColumn = (field) => field.control === "column" && field.key.split(".")[0] === fieldOfRole("from").key.split(".")[0];

function inputOf(field) {
  const id = `f-${field.key}`, value = state.values[field.key] ?? "";
  const attributes = { id, "aria-describedby": `${id}-hint`, "data-key": field.key };
  if (field.control === "check") return element("input", { ...attributes, type: "checkbox", checked: value === "yes", onchange: (event) => change(field, event.target.checked ? "yes" : "") });
  if (isPrivateColumn(field) && unsaved.names.length) return select(field, unsaved.names, attributes);
  if (field.control === "choice") return select(field, field.choices, attributes);
  const typed = { ...attributes, value, autocomplete: "off", oninput: (event) => change(field, event.target.value), placeholder: field.default ?? "" };
  if (field.control === "number") return element("input", { ...typed, type: "number", step: field.integer ? 1 : "any", min: field.least, max: field.most });
  return element("input", { ...typed, type: "text", spellcheck: "false" });
}

// A list of choices; a value that is none of them is shown all the same.
function select(field, choices, attributes) {
  const value = state.values[field.key] ?? "";
  const unknown = value && !choices.includes(value) ? [value] : [];
  const empty = field.default ? field.words[field.default] ?? field.default : isPrivateColumn(field) ? field.empty : "as usual";
  return element("select", { ...attributes, onchange: (event) => change(field, event.target.value) }, ...["", ...unknown, ...choices].map((choice) => element("option", { value: choice, selected: choice === value, text: choice ? field.words[choice] ?? choice : empty })));
}

// A file input beside a field for the path of a file: the file is uploaded, and its path typed.
function fileInput(field) {
  const onchange = async (event) => {
    const path = await upload(event.target.files[0]).catch((error) => show(byId("missing"), error.message));
    if (!path) return;
    byId(`f-${field.key}`).value = path;
    byId(`f-${field.key}`).focus();
    change(field, path);
  };
  return element("input", { type: "file", "aria-label": `Or drop the file: ${field.label}`, onchange });
}

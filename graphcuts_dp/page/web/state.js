// The state of the page: the values of the form, requests to the server, and lookups of fields.
import { call } from "/page/shared.js";

const STORAGE_KEY = "graphcuts-page"; // of this tab, so that a reload loses nothing

// `values`: by the keys of fields. `otherValues`: values of products that are not chosen now, by product.
// `suggested`: values that the page has suggested. `source`: path of the private file.
// `valuesSource`: the private file that the values are about. `separateAccount`: name of the account
// of which the curator has answered that its people are in no other account.
const emptyState = () => ({ product: "table", values: {}, otherValues: {}, answers: {}, suggested: {}, separateAccount: "", source: "", valuesSource: "", step: "data", furthest: 0 });
export const state = { token: "", run: null, ...emptyState() };

// Not stored: the form of the server, its latest replies, and counts that only the curator may see.
export const unsaved = { products: {}, steps: [], confidence: "", names: [], reading: null, asksForHeader: false, rowCounts: null, preview: null, problem: null, account: null, units: {}, questions: [] };

export const byId = (id) => document.getElementById(id);
export const authorization = () => ({ Authorization: `Bearer ${state.token}` });
export const post = (name, body = {}) => call("POST", `/api/${name}`, body, authorization());
export const save = () => sessionStorage.setItem(STORAGE_KEY, JSON.stringify(state));
export const restore = () => Object.assign(state, JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? "{}"));
export const clear = () => Object.assign(state, emptyState(), { values: { ...unsaved.products.table.preset } });

// All fields of the chosen product, those within others included.
export function allFields() {
  return unsaved.products[state.product].fields.flatMap((field) => [field, ...Object.values(field.kinds ?? {}).flat()]);
}

export const fieldOfRole = (role) => allFields().find((field) => field.role === role);

// The value of a field that is typed, or its default; "" if there is none.
export function valueOfRole(role) {
  const field = fieldOfRole(role);
  return field ? state.values[field.key] ?? field.default ?? "" : "";
}

export function setValue(key, value) {
  if (value === "" || value === null) delete state.values[key];
  else state.values[key] = String(value);
  save();
}

export async function upload(file) {
  if (!file) return "";
  const reply = await fetch(`/api/upload/${encodeURIComponent(file.name)}`, { method: "POST", headers: authorization(), body: file });
  const content = await reply.json();
  if (!reply.ok) throw new Error(content.detail);
  return content.path;
}

// Returns a function that calls `work` once it was not called for a while, so that not every key
// that is typed sends a request.
export function afterPause(work, milliseconds = 300) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(work, milliseconds); };
}

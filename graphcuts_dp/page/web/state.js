// What all modules of the page share: what was typed, requests, and the fields of the form.
import { call } from "/page/shared.js";

export const by = (id) => document.getElementById(id);
const KEPT = "graphcuts-page"; // in this tab, so that a reload loses nothing
// `aside`: what was typed of other kinds of results; `of`: the private file that all of it is about;
// `separate`: name of the account that was said to be about other people than all others.
const nothing = () => ({ product: "table", values: {}, aside: {}, answers: {}, proposed: {}, separate: "", source: "", of: "", step: "data", furthest: 0 });
export const state = { token: "", run: null, ...nothing() };
// What is not kept: the form of the server, the last preview, and what only the curator may see.
export const live = { products: {}, steps: [], confidence: "", names: [], preview: null, problem: null, eyes: null, account: null };

export const bearer = () => ({ Authorization: `Bearer ${state.token}` });
export const ask = (name, body = {}) => call("POST", `/api/${name}`, body, bearer());
export const keep = () => sessionStorage.setItem(KEPT, JSON.stringify(state));
export const forgetAll = () => Object.assign(state, nothing(), { values: { ...live.products.table.preset } });
export const recall = () => Object.assign(state, JSON.parse(sessionStorage.getItem(KEPT) ?? "{}"));

// All fields of the chosen product, those within others, too.
export function allFields() {
  return live.products[state.product].fields.flatMap((field) => [field, ...Object.values(field.kinds ?? {}).flat()]);
}
export const role = (name) => allFields().find((field) => field.role === name);
export const valueOf = (name) => { const field = role(name); return field ? state.values[field.key] ?? field.default ?? "" : ""; };

export function put(key, value) {
  if (value === "" || value === null) delete state.values[key];
  else state.values[key] = String(value);
  keep();
}

export async function upload(file) {
  if (!file) return "";
  const reply = await fetch(`/api/upload/${encodeURIComponent(file.name)}`, { method: "POST", headers: bearer(), body: file });
  const answer = await reply.json();
  if (!reply.ok) throw new Error(answer.detail);
  return answer.path;
}

// The first moments of a pause in typing, so that not every key asks the server.
export function afterPause(work, milliseconds = 300) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(work, milliseconds); };
}

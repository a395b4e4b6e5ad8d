import { call, show } from "/page/shared.js";

const problem = document.getElementById("problem");

function go(role) {
  location.assign(role === "curator" ? "/curator" : "/analyst");
}

document.getElementById("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = document.getElementById("token");
  try {
    const me = await call("POST", "/v1/login", { token: field.value.trim() });
    field.value = "";
    go(me.role);
  } catch (error) {
    show(problem, error.status === 401 ? "That is no valid token." : error.message);
    field.focus();
  }
});

// Requests to the service, as JSON; errors carry the detail of the problem document.

const TOKEN = "tacit-token";

export class ProblemError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export function useToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

async function answer(path, options = {}) {
  const headers = { ...options.headers };
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch {
    throw new ProblemError(0, "The service cannot be reached.");
  }
  const content = await response.json().catch(() => ({}));
  if (!response.ok) throw new ProblemError(response.status, content.detail || `The service answered ${response.status}.`);
  return content;
}

export function ask(path) {
  return answer(path);
}

export function tell(path, content) {
  return answer(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  });
}

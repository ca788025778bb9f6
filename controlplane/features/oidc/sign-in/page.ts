/**
 * Headers of sign-in pages: no referrer, no subresources, no framing. The headers protect the one-time code in the URL
 * of the page.
 */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
} as const

/**
 * Renders the confirmation page between the callback of the provider and the redirect to a CLI command. The page shows
 * the signed-in user and the port of the command, and continues only after a click. Without the page, an attacker could
 * send a user the address of a sign-in that the attacker began, and receive the user's session.
 */
export function confirmationPage(given: {
  readonly email: string
  readonly code: string
  readonly loopbackPort: number
}): string {
  const { email, code, loopbackPort: port } = given
  const target = `http://127.0.0.1:${port}/signed-in?${new URLSearchParams({ code })}`
  return `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8" /><meta name="viewport" content="width=device-width" /><meta name="color-scheme" content="light dark" /><title>Sign in at the terminal - Chaperone</title></head>
  <body>
    <main>
      <h1>Sign in at the terminal?</h1>
      <p>A <code>chaperone login</code> on this computer (port ${port}) will act as <strong>${escaped(email)}</strong>.</p>
      <p>Continue only if you started this command, and if the terminal shows port ${port}.</p>
      <p><a href="${escaped(target)}" rel="noreferrer">Sign in at the terminal</a></p>
    </main>
  </body>
</html>
`
}

function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  }
  return text.replaceAll(/[&<>"']/g, (character) => names[character] ?? '')
}

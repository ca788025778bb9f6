import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import type { AuthOptionsReply, StartSignInReply } from '../../../core/wire/access/sessions.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import { replyFields } from '../client/reply-fields.ts'
import type { Terminal } from '../command.ts'
import { requireSignInSuccess, type SignInResponse, signInRequest } from './sign-in-request.ts'

const Options = replyFields<AuthOptionsReply>()(
  z.looseObject({
    identity_provider: z.looseObject({ name: z.string() }).nullable().default(null),
  }),
)
const Started = replyFields<StartSignInReply>()(z.looseObject({ url: z.string() }))
/** Lifetime in ms of a sign-in request at the control plane. */
const SIGN_IN_TIMEOUT_MS = 10 * 60_000

/** Returns the name of the control plane's identity provider; null when users can sign in by password only. */
export async function identityProvider(url: string): Promise<string | null> {
  const { status, body } = await signInRequest(url, 'GET /api/auth/options')
  // Older control planes do not have this endpoint.
  if (status === 404) return null
  return Options.parse(body).identity_provider?.name ?? null
}

/**
 * Signs in through the identity provider with a loopback redirect (RFC 8252, 7.3). The user opens an address in a
 * browser of this machine. The control plane redirects the browser to a loopback port with a code. Only this process
 * can redeem the code for a session, because this requires a secret that does not leave this process.
 */
export async function oidcLogin(
  url: string,
  { name, terminal }: { readonly name: string; readonly terminal: Terminal },
): Promise<SignInResponse> {
  const secret = randomBytes(32).toString('base64url')
  const challenge = sha256(secret).toString('base64url')
  const server = createServer()
  const port = await listen(server)
  try {
    const exchanged = untilExchanged(server, { url, secret, port })
    const started = await signInRequest(url, 'POST /api/auth/oidc/start', {
      body: { challenge, loopback_port: port },
    })
    const { url: address } = Started.parse(requireSignInSuccess(url, started).body)
    terminal.warn(`Sign in with ${name}: open this address in a browser on this computer.\n\n  ${address}\n`)
    terminal.warn(`Continue there only if the page shows port ${port}. Press Ctrl-C to cancel the sign-in.`)
    return await exchanged
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return (server.address() as AddressInfo).port
}

type PendingSignIn = { readonly url: string; readonly secret: string; readonly port: number }

/**
 * Resolves when the control plane has accepted the code of a redirect and has created a session. Other programs and
 * pages of this machine can call the port, so a request with a missing code, or with a code of another sign-in, is
 * rejected, and the wait continues.
 */
async function untilExchanged(server: Server, pending: PendingSignIn): Promise<SignInResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<SignInResponse>()
  const timer = setTimeout(() => reject(timedOut()), SIGN_IN_TIMEOUT_MS)
  server.on('request', (request, reply) => {
    const respond = (answer: SignInResponse | null): void => {
      reply.once('close', () => answer && resolve(answer))
      reply.writeHead(answer ? 200 : 400, HEADERS).end(answer ? DONE : REFUSED)
    }
    exchange(request, pending).then(respond, reject)
  })
  return await promise.finally(() => clearTimeout(timer))
}

const DONE = 'You are signed in at the terminal. Close this page.\n'
const REFUSED =
  'You are not signed in: this code does not belong to the sign-in that runs at the terminal, or it was used already.\nOpen the address that the terminal shows, or start again: chaperone login\n'

/** Redeems the code in the request for a session. Returns null when the code is missing or rejected. */
async function exchange(
  request: IncomingMessage,
  { url, secret, port }: PendingSignIn,
): Promise<SignInResponse | null> {
  const code = codeOf(request, port)
  if (code === null) return null
  const answer = await signInRequest(url, 'POST /api/auth/oidc/exchange', { body: { code, secret } })
  return answer.status === 200 ? answer : null
}

const HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  connection: 'close',
}

/**
 * Returns the code of a redirect. Returns null for any other request, and for another host name, which indicates DNS
 * rebinding.
 */
function codeOf({ method, url = '', headers }: IncomingMessage, port: number): string | null {
  const isOurs = method === 'GET' && headers.host === `127.0.0.1:${port}`
  const [, code = null] = (isOurs && /^\/signed-in\?code=([\w-]{43})$/.exec(url)) || []
  return code
}

function timedOut(): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail: 'The sign-in was not completed within ten minutes. Start again: chaperone login',
  })
}

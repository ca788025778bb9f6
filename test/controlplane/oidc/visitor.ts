import { createHash, randomBytes } from 'node:crypto'
import type { Answer, Call } from '../routes/start.ts'
import { at, caller } from '../routes/start.ts'

/** A browser with its cookies, which follows redirects one at a time. Cookies know no ports. */
export type Visitor = {
  readonly cookies: Map<string, { readonly value: string; readonly path: string }>
  get(url: string): Promise<{
    readonly status: number
    readonly location: string | null
    readonly text: string
    readonly headers: Headers
  }>
  /** Follows redirects while they lead elsewhere than to `end`; the last address. */
  follow(url: string, end: (url: string) => boolean): Promise<string>
}

export function openVisitor(): Visitor {
  const cookies: Visitor['cookies'] = new Map()
  async function get(url: string) {
    const { pathname } = new URL(url)
    const sent = [...cookies].filter(([, { path }]) => pathname.startsWith(path))
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: sent.map(([name, { value }]) => `${name}=${value}`).join('; ') },
    })
    for (const line of answer.headers.getSetCookie()) keep(line)
    const target = answer.headers.get('location')
    const location = target === null ? null : new URL(target, url).href
    return { status: answer.status, location, text: await answer.text(), headers: answer.headers }
  }
  function keep(line: string): void {
    const [pair = '', ...flags] = line.split(';').map((part) => part.trim())
    const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
    const path = flags.find((flag) => /^path=/i.test(flag))?.slice(5) ?? '/'
    if (value === '') cookies.delete(name)
    else cookies.set(name, { value, path })
  }
  return {
    cookies,
    get,
    async follow(url, end) {
      let next = url
      for (let steps = 0; steps < 12; steps++) {
        if (end(next)) return next
        const { location, status, text } = await get(next)
        if (location === null) throw new Error(`${next} ended with ${status}: ${text.slice(0, 300)}`)
        next = location
      }
      throw new Error(`redirects without end: ${next}`)
    },
  }
}

/** A page of the dashboard, or a command, with the secret that it keeps. */
export type SignInPage = { readonly secret: string; readonly url: string }

export async function startSignIn(call: Call, more: Record<string, unknown> = {}): Promise<SignInPage> {
  const secret = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(secret).digest('base64url')
  const answer = await call('POST', '/api/auth/oidc/start', { challenge, ...more })
  if (answer.status !== 200) throw new Error(`start: ${answer.status} ${answer.text}`)
  return { secret, url: at(answer.body, 'url') }
}

export const isCallback = (url: string): boolean => new URL(url).pathname === '/api/auth/oidc/callback'

/** What the fragment of the page's address says. */
export function fragmentOf(url: string): { readonly code: string | null; readonly error: string | null } {
  const query = new URLSearchParams(new URL(url).hash.replace(/^#\/signed-in\?/, ''))
  return { code: query.get('code'), error: query.get('error') }
}

export type SignedIn = { readonly answer: Answer; readonly call: Call; readonly read: Call }

/** Exchanges the code as a page does: `call` writes, too. */
export async function exchange(
  url: string,
  call: Call,
  given: { code: string; secret: string },
): Promise<SignedIn> {
  const page = { 'sec-fetch-site': 'same-origin', origin: url }
  const answer = await call('POST', '/api/auth/oidc/exchange', given, page)
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  const headers = { cookie, 'x-service-page-secret': String(answer.body['page_secret']) }
  return { answer, call: caller(url, headers), read: caller(url, { cookie }) }
}

import { type Logger, pino } from 'pino'
import { readConfig } from '../../../controlplane/config.ts'
import { type ControlPlane, createControlPlane } from '../../../controlplane/controlplane.ts'
import { PASSWORD_COST } from '../../support/password-cost.ts'
import type { TestDatabase } from '../../support/postgres.ts'

export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Parsed JSON; tests compare it or read it through `at`. */
  readonly body: Record<string, unknown>
}

export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>

export type TestControlPlane = ControlPlane & {
  readonly call: Call
  /** Signs in and gives a caller that sends the cookie, as a browser on the dashboard would. */
  signIn(email: string): Promise<Call>
  /** Everything logged so far, as text. */
  log(): string
}

export const PASSWORD = 'correct horse battery'

/**
 * The real control plane on a free port with the given database. The admin token may do everything, as tests change
 * rules with it, unless `env` sets `APPROVALS`.
 */
export async function startControlPlane(
  database: TestDatabase,
  env: Record<string, string> = {},
): Promise<TestControlPlane> {
  const lines: string[] = []
  const log: Logger = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) })
  const always = { DATABASE_URL: database.url, MASTER_KEY: 'ab'.repeat(32), PORT: '0', APPROVALS: 'token' }
  const config = readConfig({ ...always, ...env })
  const controlPlane = await createControlPlane(config, log, { passwordCost: PASSWORD_COST })
  const call = caller(controlPlane.url, {})
  return {
    ...controlPlane,
    call,
    async signIn(email) {
      const answer = await call('POST', '/api/auth/login', { email, password: PASSWORD })
      const cookie = answer.headers.get('set-cookie')?.split(';')[0]
      if (cookie === undefined) throw new Error(`no session for ${email}: ${answer.text}`)
      return caller(controlPlane.url, { cookie })
    },
    log: () => lines.join(''),
  }
}

/** Behind a proxy at 127.0.0.1, with open registration. The owner registered before there was a proxy. */
export async function startBehindProxy(database: TestDatabase, owner: string): Promise<TestControlPlane> {
  const direct = await startControlPlane(database)
  const { status } = await register(direct.call, owner).finally(() => direct.close())
  if (status !== 200) throw new Error(`the owner could not register: ${status}`)
  return startControlPlane(database, { TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8', REGISTRATION: 'open' })
}

export function register(call: Call, email: string, extra: Record<string, unknown> = {}): Promise<Answer> {
  return call('POST', '/api/auth/register', { email, password: PASSWORD, name: 'Somebody', ...extra })
}

export function caller(url: string, always: Record<string, string>): Call {
  return async (method, path, body, headers = {}) => {
    const isText = typeof body === 'string'
    const answer = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...always,
        ...headers,
      },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json')
    return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : {} }
  }
}

/** A field deep in an answer: `at(body, 'gateways', 0, 'id')`. */
export function at<T = string>(value: unknown, ...path: readonly (string | number)[]): T {
  return path.reduce<unknown>((node, key) => (node as Record<string | number, unknown>)?.[key], value) as T
}

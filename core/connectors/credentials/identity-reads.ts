import type { Parameters } from '../../action/action.ts'

/** Authenticated read of a provider that tests a credential, with readers of owner and error in its response. */
export type IdentityRead = {
  /** Name of the action, a read without a resource. */
  readonly type: string
  readonly parameters: Parameters
  /**
   * Returns the owner of the credential; null where the response names none. Never throws.
   */
  readonly identity: (body: unknown) => string | null
  /** Returns the error in a body of status 200; null when there is none. Default: none. */
  readonly error?: (body: unknown) => string | null
}

const MAX_TEXT = 200

/** Code host: the user of the token. A token of an app installation has none, and gets 403. */
export const CODEHOST_IDENTITY: IdentityRead = {
  type: 'codehost.user.get_self',
  parameters: {},
  identity: (body) => text(body, 'login'),
}

/** Payments: the account of the key. */
export const PAYMENTS_IDENTITY: IdentityRead = {
  type: 'payments.account.get_self',
  parameters: {},
  identity: (body) => joined(text(body, 'business_profile', 'name') ?? text(body, 'email'), text(body, 'id')),
}

/** Chat: the user and the workspace. The API answers 200 also for a token that it refuses. */
export const CHAT_IDENTITY: IdentityRead = {
  type: 'chat.auth.test',
  parameters: {},
  identity: (body) => joined(text(body, 'user'), text(body, 'team')),
  error: (body) => (member(body, 'ok') === false ? (text(body, 'error') ?? 'ok: false') : null),
}

/** Model provider: a list of models, which names no user. */
export function modelIdentity(name: string): IdentityRead {
  return { type: `${name}.model.list`, parameters: {}, identity: () => null }
}

function joined(name: string | null, place: string | null): string | null {
  if (name === null || place === null) return name ?? place
  return `${name} (${place})`
}

function text(body: unknown, ...path: readonly string[]): string | null {
  const value = path.reduce(member, body)
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_TEXT) : null
}

function member(value: unknown, key: string): unknown {
  const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
  return isObject ? value[key as keyof typeof value] : undefined
}

import type { Parameters } from '../../action/action.ts'

/**
 * Authenticated read request that tests a credential, with functions that read the owner and the error from its
 * response.
 */
export type IdentityRead = {
  /** Name of the action, a read without a resource. */
  readonly type: string
  readonly parameters: Parameters
  /**
   * Returns the owner of the credential; null where the response names none. Never throws.
   */
  readonly identity: (body: unknown) => string | null
  /**
   * Returns the error in a body with status 200; null if there is none. Absent if the provider reports no error with
   * 200.
   */
  readonly error?: (body: unknown) => string | null
}

const MAX_TEXT = 200

/** Reads the user of a token of the code host. A token of an app installation has no user and gets 403. */
export const CODEHOST_IDENTITY: IdentityRead = {
  type: 'codehost.user.get_self',
  parameters: {},
  identity: (body) => text(body, 'login'),
}

/** Reads the account of a key of the payment provider. */
export const PAYMENTS_IDENTITY: IdentityRead = {
  type: 'payments.account.get_self',
  parameters: {},
  identity: (body) => joined(text(body, 'business_profile', 'name') ?? text(body, 'email'), text(body, 'id')),
}

/** Reads the user and the workspace of a chat token. The API responds with status 200 even if it refuses the token. */
export const CHAT_IDENTITY: IdentityRead = {
  type: 'chat.auth.test',
  parameters: {},
  identity: (body) => joined(text(body, 'user'), text(body, 'team')),
  error: (body) => (member(body, 'ok') === false ? (text(body, 'error') ?? 'ok: false') : null),
}

/** Lists the models of a model provider. The response names no user. */
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

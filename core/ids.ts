/** Prefixes of ids by the kind of object. */
export const ID_PREFIXES = {
  actionRequest: 'act_',
  agent: 'agent_',
  approval: 'apr_',
  batch: 'batch_',
  connector: 'conn_',
  event: 'evt_',
  gateway: 'gw_',
  grant: 'grt_',
  hold: 'apv_',
  invitation: 'inv_',
  key: 'key_',
  order: 'ord_',
  org: 'org_',
  permission: 'perm_',
  policy: 'pol_',
  process: 'proc_',
  record: 'rec_',
  request: 'req_',
  session: 'ses_',
  subscription: 'sub_',
  token: 'tok_',
  user: 'usr_',
} as const

export type IdKind = keyof typeof ID_PREFIXES

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/**
 * Creates an id: the prefix of its kind, then one base-62 character per random byte. Some characters are slightly more
 * likely, which is harmless for ids. Needs at least 16 bytes, which the caller supplies because core has no
 * randomness.
 */
export function makeId(kind: IdKind, random: Uint8Array): string {
  return ID_PREFIXES[kind] + base62(random)
}

/**
 * Encodes one base-62 character per byte. For secrets, pass only bytes below 248, so that all characters are equally
 * likely.
 */
export function base62(bytes: Uint8Array): string {
  let out = ''
  for (const byte of bytes) out += ALPHABET[byte % 62]
  return out
}

/** Returns the id of an audit event: `evt_` and the number with 12 digits. */
export function eventId(n: number | bigint): string {
  return ID_PREFIXES.event + String(n).padStart(12, '0')
}

/** Prefixes of all kinds of ids. The caller supplies randomness: core has none. */
export const ID_PREFIXES = {
  actionRequest: 'act_',
  agent: 'agent_',
  approval: 'apr_',
  batch: 'batch_',
  connector: 'conn_',
  event: 'evt_',
  gateway: 'gw_',
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
  user: 'usr_',
} as const

export type IdKind = keyof typeof ID_PREFIXES

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/**
 * Creates an id of the given kind from at least 16 random bytes: prefix and one base-62 character per byte (the bias is
 * harmless).
 */
export function makeId(kind: IdKind, random: Uint8Array): string {
  return ID_PREFIXES[kind] + base62(random)
}

/**
 * Encodes one base-62 character per byte. For secrets pass only bytes below 248, so that all characters are equally
 * likely.
 */
export function base62(bytes: Uint8Array): string {
  let out = ''
  for (const byte of bytes) out += ALPHABET[byte % 62]
  return out
}

/** `evt_` and the 12-digit zero-padded number. */
export function eventId(n: number | bigint): string {
  return ID_PREFIXES.event + String(n).padStart(12, '0')
}

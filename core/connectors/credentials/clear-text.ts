import type { ConnectorEntry } from '../../wire/gateway/sync.ts'

/** Upstream of a connector, as input of the check for credentials over plain HTTP. */
export type ClearTextUpstream = {
  readonly url?: string | undefined
  readonly allowPrivateAddresses: boolean
  readonly allowPlaintextCredential?: boolean | undefined
}

type Sender = {
  readonly upstream: ClearTextUpstream
  readonly auth?: { readonly type: string } | undefined
}

/**
 * Reports whether requests leave the gateway without TLS: the Connector allows private addresses, and its URL begins
 * with `http:`.
 */
export function leavesInClear({ url, allowPrivateAddresses }: ClearTextUpstream): boolean {
  return url !== undefined && allowPrivateAddresses && new URL(url).protocol === 'http:'
}

/** Reports whether a credential of this connector would be sent over plain HTTP without permission of the Connector. */
export function exposesCredential({ upstream, auth }: Sender): boolean {
  if (auth?.type === 'none' || upstream.allowPlaintextCredential === true) return false
  return leavesInClear(upstream)
}

/** Reason for withholding a credential that would be sent over plain HTTP. */
export const PLAINTEXT_CREDENTIAL =
  'The upstream address of the Connector is plain http, so the credential would cross the network in clear text. Use https. If clear text is intended, set allowPlaintextCredential: true under upstream of the Connector (in the API: allow_plaintext_credential).'

/** Returns the connector without its credential if the credential would be sent over plain HTTP without permission. */
export function withoutExposedCredential(entry: ConnectorEntry): ConnectorEntry {
  if (entry.secret === null || !exposesCredential(entry)) return entry
  return { ...entry, secret: null, withheld: PLAINTEXT_CREDENTIAL }
}

import type * as z from 'zod'
import type { CredentialSpec } from '../../../../core/crd/credential-spec.ts'

/** Request for a short-lived secret. */
export type MintRequest = {
  readonly credential: z.infer<typeof CredentialSpec>
  /** Stored secret of the Connector, which never leaves the control plane. */
  readonly secret: string
  /** Refresh token that the source issued in place of the stored one; null while the stored one is valid. */
  readonly rotated: string | null
  /** Name of the Connector; `namespace/name` for a Connector of a manifest. */
  readonly connector: string
  /** Origin of the Connector. Tenants of a cluster write manifests of the source `kubernetes`. */
  readonly source: 'kubernetes' | 'file'
}

/** Short-lived secret. Gateways send it in the form that `authOf` returns for the Connector. */
export type Minted = {
  readonly secret: string
  /** Milliseconds from the request to the end of its validity; null while its source does not change. */
  readonly lifetimeMs: number | null
  /** Refresh token for the next request in place of the stored one; null if the stored one stays valid. */
  readonly rotated: string | null
}

/** Minted secret with an expiry. */
export type ExpiringSecret = Minted & { readonly lifetimeMs: number }

/** Mints a short-lived secret. Rejects with a `MintError`. */
export type Mint<M extends Minted = Minted> = (request: MintRequest) => Promise<M>

/** Failure of a source. The message is a full sentence for owners of Connectors and agents, without secrets. */
export class MintError extends Error {
  /**
   * Refresh token of an answer whose access token cannot be used; null when the answer had none. The stored one may be
   * void already.
   */
  readonly rotated: string | null

  constructor(
    message: string,
    { rotated = null, ...options }: ErrorOptions & { readonly rotated?: string | null } = {},
  ) {
    super(message, options)
    this.rotated = rotated
  }
}

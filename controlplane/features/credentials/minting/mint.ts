import type * as z from 'zod'
import type { CredentialSpec } from '../../../../core/crd/credentials/credential-spec.ts'

/** Request for a short-lived credential. */
export type MintRequest = {
  readonly credential: z.infer<typeof CredentialSpec>
  /**
   * Stored credential of the Connector, or the credential that the control plane read from an environment variable,
   * file or command instead.
   */
  readonly secret: string
  /**
   * Refresh token that the source issued to replace the stored refresh token; null while the stored refresh token is
   * used.
   */
  readonly rotated: string | null
  /** Name of the Connector; `namespace/name` for a Connector of a manifest. */
  readonly connector: string
  /** Origin of the Connector. Manifests that tenants of a cluster write have the origin `kubernetes`. */
  readonly source: 'kubernetes' | 'file'
}

/** Short-lived credential. Gateways send it in the form that `authOf` returns for the Connector. */
export type Minted = {
  readonly secret: string
  /**
   * Milliseconds of validity, counted from the request to the source. Null for a credential without an expiry, which is
   * valid until its source changes.
   */
  readonly lifetimeMs: number | null
  /**
   * Refresh token for the next request. Null when the stored refresh token stays valid, and for sources without
   * refresh tokens.
   */
  readonly rotated: string | null
}

/** Minted credential with an expiry. */
export type ExpiringSecret = Minted & { readonly lifetimeMs: number }

/** Mints a short-lived credential. Rejects with a `MintError`. */
export type Mint<M extends Minted = Minted> = (request: MintRequest) => Promise<M>

/**
 * Failure of a source. The message is a full sentence without secrets, because agents and the owners of Connectors read
 * the message.
 */
export class MintError extends Error {
  /**
   * Refresh token of a response whose access token cannot be used; null when the response had none. Must be stored,
   * because the former refresh token may be void.
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

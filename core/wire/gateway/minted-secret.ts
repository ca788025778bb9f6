import * as z from 'zod'

/**
 * State of a minted secret: a short-lived token that the control plane obtains with a stored secret, or a secret that
 * it reads from a variable, a file or a command. From `expires_at` on, the gateway refuses requests with 503 and
 * `error`.
 */
export const MintedSecret = z.object({
  /** Serial number that the control plane gives the secret. Each newer secret of the Connector has a higher number. */
  serial: z.number(),
  /** Time at which the secret expires, ISO 8601; null if there is no secret. */
  expires_at: z.string().nullable(),
  /** Last failure of the source as full sentences; null after a success. */
  error: z.string().nullable(),
  /** Field of the credential that states the source, such as `githubApp`. */
  kind: z.string().max(32).optional(),
  /**
   * Keyed hash of the credential's specification and the stored secret. The gateway stops sending narrowed tokens that
   * were issued under another hash.
   */
  source: z.string().max(128).optional(),
  /**
   * True if the gateway sends each request with a token that is narrowed to the actions of the request (see
   * `NarrowedTokenBody`).
   */
  narrow: z.boolean().optional(),
  /** OAuth scopes of narrowed tokens, by action. Absent for tokens that have the permissions of the catalogue. */
  scopesByAction: z
    .array(z.object({ actionPattern: z.string().max(300), scopes: z.array(z.string().max(200)).max(64) }))
    .max(64)
    .optional(),
})

/** Description of the secret of a Connector for records. The description contains no secret. */
export const SecretDescription = z.object({
  /** Source of the secret, such as `secretRef`, `vault`, `env` or `githubApp`. */
  source: z.string().max(32),
  /**
   * Version of the secret: the serial number of a minted secret, otherwise an id that is different after each
   * change.
   */
  version: z.string().max(64),
  /** Scopes, or repositories and permissions, that the Connector states for its tokens. Absent if it states none. */
  scope: z.array(z.string().max(300)).max(128).optional(),
})
export type SecretDescription = z.infer<typeof SecretDescription>

/** Reports that the upstream of a Connector refused its short-lived secret with 401. */
export const RefreshCredentialBody = z.object({
  connector_id: z.string().min(1).max(300),
  /** Serial number of the refused secret (see `MintedSecret.serial`). */
  serial: z.number().int().min(0),
})
/** `refreshing` is true when another secret than the refused one is available or being minted. */
export const RefreshCredentialReply = z.object({ refreshing: z.boolean() })

export type RefreshCredentialBody = z.infer<typeof RefreshCredentialBody>
export type RefreshCredentialReply = z.infer<typeof RefreshCredentialReply>

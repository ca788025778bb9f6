import * as z from 'zod'
import { Id, Ok } from './schema/fields.ts'

/** Name of a credential of the encrypted store, or of a Connector. */
export const CredentialName = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$/, 'can contain only letters, digits and . _ / -')

const Secret = z
  .string()
  .max(65_536)
  .trim()
  .min(1, 'is empty')
  .regex(/^[^\u0000-\u001f\u007f]*$/, 'contains a line break or another control character')

/**
 * Source of the credential of a Connector. `vault`: the encrypted store of the control plane, under the name in the
 * manifest. `secret`: a Secret that the manifest names. `connector`: stored with a Connector without a manifest. `env`,
 * `file`, `exec`: the control plane reads an environment variable, a file, or the output of a command. `none`: the
 * manifest names no credential.
 */
const CredentialSource = z.enum(['vault', 'secret', 'connector', 'env', 'file', 'exec', 'none'])

export const ConnectorCredential = z.object({
  source: CredentialSource,
  /**
   * Name of the credential, as in `SetCredentialBody`; for `secret` the name of the Secret, as `namespace/name`; for
   * `env`, `file` and `exec` the variable, the path or the command without arguments. Null for `none`.
   */
  name: z.string().nullable(),
  /** Steps by which a user sets a credential that the API cannot set; null if the API can set the credential. */
  remedy: z.string().nullable(),
})

export const CredentialView = z.object({
  name: z.string(),
  source: CredentialSource.exclude(['none']),
  /** Names of the Connectors that use the credential; empty for a stored credential that no manifest names. */
  connectors: z.array(z.string()),
  /** True if the credential is stored or, for `env`, `file` and `exec`, was read from its source. */
  is_stored: z.boolean(),
})
export const CredentialList = z.object({ credentials: z.array(CredentialView) })

export const SetCredentialBody = z.strictObject({ name: CredentialName, secret: Secret })
export const RemoveCredentialQuery = z.strictObject({ name: CredentialName })
export const ChangeCredentialReply = Ok.extend({
  name: z.string(),
  /** Names of the Connectors that use the credential. */
  connectors: z.array(z.string()),
})

export const RotateCredentialBody = z.strictObject({
  /** Name of the credential or of a Connector, or the variable, the path or the command of the source. */
  name: z.string().min(1).max(4_096),
})

export const TestCredentialBody = z.strictObject({ connector_id: Id })
export const TestCredentialReply = z.object({
  /** True if the provider accepted the credential. */
  ok: z.boolean(),
  /** Owner of the credential according to the provider's response; null if the response names no owner. */
  identity: z.string().nullable(),
  /** HTTP status of the provider's response; null if the provider did not respond. */
  status: z.int().nullable(),
  /** Result in full sentences. */
  detail: z.string(),
})

export type TestCredentialBody = z.input<typeof TestCredentialBody>
export type TestCredentialReply = z.infer<typeof TestCredentialReply>
export type ConnectorCredential = z.infer<typeof ConnectorCredential>
export type CredentialView = z.infer<typeof CredentialView>
export type CredentialList = z.infer<typeof CredentialList>
export type SetCredentialBody = z.input<typeof SetCredentialBody>
export type RemoveCredentialQuery = z.input<typeof RemoveCredentialQuery>
export type ChangeCredentialReply = z.infer<typeof ChangeCredentialReply>

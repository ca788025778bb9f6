import * as z from 'zod'
import { Email, Ok, RoleSchema } from '../schema/fields.ts'

const SessionUser = z.object({ id: z.string(), email: z.string(), role: RoleSchema })
/**
 * Secret of a dashboard page, which the page sends with every request as `X-Service-Page-Secret`. Absent for sessions
 * without a page.
 */
const PageSecret = z.string().optional()
const Password = z.string().min(12, 'must have at least 12 characters').max(1_024)

export const RegisterBody = z.strictObject({
  email: Email,
  password: Password,
  name: z.string().min(1).max(200),
  setup_token: z.string().max(200).optional(),
  invite_token: z.string().max(200).optional(),
})
export const RegisterReply = Ok.extend({ user: SessionUser })
export const LoginBody = z.strictObject({
  email: z.string().min(1).max(320),
  password: z.string().min(1).max(1_024),
})
export const SessionReply = Ok.extend({ user: SessionUser, page_secret: PageSecret })
export const PasswordBody = z.strictObject({
  current_password: z.string().min(1).max(1_024),
  new_password: Password,
})
export const PasswordReply = Ok.extend({ page_secret: PageSecret })
export const OwnerLinkBody = z.strictObject({ required: z.boolean().default(false) })
export const OwnerLinkReply = Ok.extend({ owner_link: z.string().nullable() })
export const RedeemOwnerLinkBody = z.strictObject({ setup_token: z.string().min(1).max(200) })

/**
 * Mode in which users edit Gateways, Connectors, Permissions and Policies. With `yaml`, an edit stores nothing and
 * returns 409 with the manifest that the user must commit.
 */
export const EditingMode = z.enum(['rows', 'yaml'])

export const MeReply = z.object({
  user: SessionUser.extend({
    groups: z.array(z.string()),
    via: z.string(),
    /**
     * Reason why the session is restricted; null if it is not. `page_secret`: the session is read-only, because the
     * request has no page secret.
     */
    restriction: z.string().nullable(),
    /**
     * Namespaces in which the role applies; null for all namespaces. Absent for callers of a cluster, whose rights
     * follow from RBAC.
     */
    namespaces: z.array(z.string()).nullable().optional(),
    /** Namespaces in which the user has each right; null for all namespaces. Absent for callers of a cluster. */
    rights: z.record(z.string(), z.array(z.string()).nullable()).optional(),
  }),
  editing: EditingMode,
  /** Command line of this installation, such as `chaperone` or `./scripts/chaperone.sh`. */
  command: z.string().default('chaperone'),
  /** Version of the control plane. */
  version: z.string(),
})

/** Authentication modes of the installation. */
export const AuthOptionsReply = z.object({
  password: z.boolean(),
  identity_provider: z.object({ name: z.string() }).nullable(),
  /** False if this request has no session cookie and no other credential, so that the user has to sign in. */
  has_credentials: z.boolean(),
})

/** Schema of 32 bytes as base64url. */
const Bytes32 = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'must be 43 characters of base64url')

/**
 * Begins a sign-in. `challenge` is the SHA-256 of a secret that the client keeps until it sends the secret with the
 * code of the sign-in (`ExchangeBody`).
 */
export const StartSignInBody = z.strictObject({
  challenge: Bytes32,
  loopback_port: z.int().min(1).max(65_535).optional(),
})
export const StartSignInReply = Ok.extend({ url: z.string() })
/**
 * Query of the request with which the browser begins a sign-in. The query may have unknown parameters, because proxies
 * may add some.
 */
export const BeginSignInQuery = z.looseObject({ request: z.string().min(1).max(4_000) })
/**
 * Query of the request to which the identity provider redirects the browser. The OIDC client validates the parameters.
 */
export const SignInCallbackQuery = z.looseObject({})
export const ExchangeBody = z.strictObject({ code: Bytes32, secret: Bytes32 })

export type RegisterBody = z.input<typeof RegisterBody>
export type RegisterReply = z.infer<typeof RegisterReply>
export type LoginBody = z.input<typeof LoginBody>
export type SessionReply = z.infer<typeof SessionReply>
export type PasswordBody = z.input<typeof PasswordBody>
export type OwnerLinkReply = z.infer<typeof OwnerLinkReply>
export type PasswordReply = z.infer<typeof PasswordReply>
export type RedeemOwnerLinkBody = z.input<typeof RedeemOwnerLinkBody>
export type EditingMode = z.infer<typeof EditingMode>
export type MeReply = z.infer<typeof MeReply>
export type AuthOptionsReply = z.infer<typeof AuthOptionsReply>
export type StartSignInBody = z.input<typeof StartSignInBody>
export type StartSignInReply = z.infer<typeof StartSignInReply>
export type ExchangeBody = z.input<typeof ExchangeBody>

import { timingSafeEqual } from 'node:crypto'
import { ChaperoneError } from '../../core/errors.ts'
import { newId } from '../crypto/ids.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Passwords } from '../crypto/password.ts'
import { sha256 } from '../crypto/tokens.ts'
import { recordEvent } from '../events.ts'
import type { Actor } from '../store/audit.ts'
import { takeInvitation } from '../store/invitations.ts'
import { isOwnerLinkRequired, requireOwnerLink } from '../store/orgs.ts'
import type { Db, Query } from '../store/query.ts'
import { hasUsers, insertUser, lockRegistrations, type Role, type UserRow } from '../store/users.ts'

export type RegistrationDeps = {
  readonly db: Db
  readonly orgId: string
  readonly keyring: Keyring
  readonly passwords: Passwords
  readonly registration: 'open' | 'invite'
  /** On loopback the first user needs no link, until an agent is started on this machine. */
  readonly isLoopback: boolean
}

export type RegistrationInput = {
  readonly email: string
  readonly password: string
  readonly name: string
  readonly setup_token?: string | undefined
  readonly invite_token?: string | undefined
}

export type Registration = {
  register(input: RegistrationInput): Promise<UserRow>
  /** The token of the first-owner link; null once there is an owner. */
  setupToken(): Promise<string | null>
  /** Agents run on this machine: from now on the first owner registers through the link. Its token; null once there is a user. */
  requireLink(by: Actor): Promise<string | null>
}

export function createRegistration(deps: RegistrationDeps): Registration {
  // Made from the master key: the same on every replica and after every start, and nowhere stored.
  const token = deps.keyring.derive(`first owner of ${deps.orgId}`).toString('base64url')
  return {
    async register(input) {
      const passwordHash = await deps.passwords.hash(input.password)
      return deps.db.tx(async (q) => {
        await lockRegistrations(q)
        const role = await roleFor(q, input, deps, token)
        const { email, name } = input
        const user = await insertUser(q, {
          id: newId('user'),
          orgId: deps.orgId,
          email,
          name,
          role,
          passwordHash,
          groups: [],
        })
        if (user === undefined) {
          throw new ChaperoneError('conflict', {
            detail: 'This e-mail address has an account already: sign in instead',
          })
        }
        const actor: Actor = { kind: 'user', userId: user.id, label: email }
        await recordEvent(q, { orgId: deps.orgId, actor, type: 'user.registered', details: { email, role } })
        return user
      })
    },
    setupToken: async () => ((await hasUsers(deps.db)) ? null : token),
    requireLink: (by) =>
      deps.db.tx(async (q) => {
        await lockRegistrations(q)
        if (await hasUsers(q)) return null
        if (await requireOwnerLink(q)) await noteLinkRequired(q, deps.orgId, by)
        return token
      }),
  }
}

async function roleFor(
  q: Query,
  input: RegistrationInput,
  deps: RegistrationDeps,
  token: string,
): Promise<Role> {
  if (!(await hasUsers(q))) return firstRole(q, input, deps, token)
  if (input.invite_token !== undefined) {
    const invitation = await takeInvitation(q, sha256(input.invite_token), input.email)
    if (invitation !== undefined) return invitation.role
    throw refused('The invitation is over, used, or for another e-mail address: ask for a new one')
  }
  if (deps.registration === 'open') return 'viewer'
  throw refused('Ask an owner or admin of this installation for an invitation')
}

async function firstRole(
  q: Query,
  input: RegistrationInput,
  deps: RegistrationDeps,
  token: string,
): Promise<Role> {
  const given = input.setup_token
  const isOwner = given === undefined ? await needsNoLink(q, deps) : isSame(given, token)
  if (isOwner) return 'owner'
  throw refused(
    'The first owner registers through the owner link: the control plane prints it when it starts, and chaperone run while there is no owner',
  )
}

async function needsNoLink(q: Query, { isLoopback }: RegistrationDeps): Promise<boolean> {
  return isLoopback && !(await isOwnerLinkRequired(q))
}

function noteLinkRequired(q: Query, orgId: string, actor: Actor): Promise<void> {
  return recordEvent(q, {
    orgId,
    actor,
    type: 'settings.updated',
    details: { change: 'owner_link_required' },
  })
}

function refused(detail: string): ChaperoneError {
  return new ChaperoneError('forbidden', { error: 'Registration is by invitation', detail })
}

function isSame(given: string, token: string): boolean {
  return timingSafeEqual(sha256(given), sha256(token))
}

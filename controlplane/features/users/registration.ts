import { ChaperoneError } from '../../../core/errors.ts'
import type { Role } from '../../../core/wire/access/rights.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import type { RegistrationMode } from '../../config.ts'
import { newId } from '../../crypto/ids.ts'
import type { Passwords } from '../../crypto/password.ts'
import { isOwnerLinkRequired } from '../../db/orgs.ts'
import type { Db, Query } from '../../db/query.ts'
import type { Actor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { countRegistration, turnOf } from '../sessions/attempts.ts'
import { takeInvitation } from './invitation-store.ts'
import type { CheckedOwnerToken, OwnerLinks } from './owner-links/service.ts'
import { hasOwner, hasUsers, type UserRow } from './rows.ts'
import { insertUser, lockRegistrations } from './store.ts'

export type RegistrationDeps = {
  readonly db: Db
  readonly orgId: string
  readonly ownerLinks: Pick<OwnerLinks, 'check' | 'use'>
  readonly passwords: Passwords
  readonly registration: RegistrationMode
  /**
   * Whether the server is reachable from this machine only. The first user then registers without a link, until an
   * agent is started on this machine.
   */
  readonly isLoopback: boolean
}

export type RegistrationInput = {
  readonly email: string
  readonly password: string
  readonly name: string
  readonly setup_token?: string | undefined
  readonly invite_token?: string | undefined
  /** True when a proxy or a page of another origin sent the request, so that the client may be on another machine. */
  readonly isForwarded?: boolean
  readonly address: string
}

export type Registration = {
  register(input: RegistrationInput): Promise<UserRow>
}

export function createRegistration(deps: RegistrationDeps): Registration {
  return {
    async register(input) {
      const counted = await countRegistration(deps.db, input.address)
      const passwordHash = await deps.passwords.hash(input.password, turnOf({ ...input, device: null }))
      const ownerToken = await deps.ownerLinks.check(input.setup_token)
      return deps.db.tx(async (q) => {
        await lockRegistrations(q)
        const role = await roleFor(q, { ...input, ownerToken }, deps)
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
            detail: 'This e-mail address already has an account. Sign in instead.',
          })
        }
        const actor: Actor = { kind: 'user', userId: user.id, label: email }
        await recordEvent(q, { orgId: deps.orgId, actor, type: 'user.registered', details: { email, role } })
        await counted.succeeded(q)
        return user
      })
    },
  }
}

type CheckedInput = RegistrationInput & { readonly ownerToken: CheckedOwnerToken | null }

async function roleFor(q: Query, input: CheckedInput, deps: RegistrationDeps): Promise<Role> {
  if (await deps.ownerLinks.use(q, input.ownerToken)) return 'owner'
  if (await isFirst(q, input)) return firstRole(q, input, deps)
  if (input.invite_token !== undefined) {
    const invitation = await takeInvitation(q, sha256(input.invite_token), input.email)
    if (invitation !== undefined) return invitation.role
    throw refused(
      'The invitation has expired, was used, or is for another e-mail address. Ask for a new invitation.',
    )
  }
  if (deps.registration === 'open' || (deps.registration === 'local' && input.isForwarded !== true))
    return 'viewer'
  throw refused('Registration requires an invitation. Ask an owner or admin of this installation for one.')
}

async function isFirst(q: Query, { setup_token: token }: RegistrationInput): Promise<boolean> {
  return !(await hasUsers(q)) || (token !== undefined && !(await hasOwner(q)))
}

async function firstRole(q: Query, input: RegistrationInput, deps: RegistrationDeps): Promise<Role> {
  const isHere = deps.isLoopback && input.isForwarded !== true
  if (isHere && input.setup_token === undefined && !(await isOwnerLinkRequired(q))) return 'owner'
  throw refused(
    'The first owner registers through a link that is valid once, for an hour. Run chaperone owner-link for this link (in a cluster kubectl chaperone owner-link).',
  )
}

function refused(detail: string): ChaperoneError {
  return new ChaperoneError('forbidden', { error: 'Registration is by invitation', detail })
}

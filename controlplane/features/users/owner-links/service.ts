import { ChaperoneError } from '../../../../core/errors.ts'
import { sha256 } from '../../../../runtime/sha256.ts'
import { randomToken } from '../../../crypto/tokens.ts'
import { requireOwnerLink } from '../../../db/orgs.ts'
import type { Db, Query } from '../../../db/query.ts'
import type { UserPrincipal } from '../../../http/auth/authenticate.ts'
import { type Actor, actorOf } from '../../audit/actor.ts'
import { recordEvent } from '../../audit/events.ts'
import { hasOwner, lockUser, lockUserChanges } from '../rows.ts'
import { lockRegistrations, updateUser } from '../store.ts'
import type { OwnerLinkSecret } from './secret.ts'
import { deleteOwnerLinks, insertOwnerLink, isOwnerLink } from './store.ts'

export type OwnerLinksDeps = {
  readonly db: Db
  readonly orgId: string
  /** Reads the Secret with the owner link; null outside a cluster. */
  readonly secret: OwnerLinkSecret | null
}

/** Token of an owner link that was valid at the time of the check. */
export type CheckedOwnerToken = { readonly token: string; readonly isOfSecret: boolean }

export type OwnerLinks = {
  /**
   * Creates a link and returns its token; null once an owner exists. `isRequired`: an agent was started on this
   * machine, so the first owner can register through a link only. Throws `conflict` in a cluster, where a Secret holds
   * the link.
   */
  make(by: Actor, options: { readonly isRequired: boolean }): Promise<string | null>
  /**
   * Checks the token against the Secret, if the installation is in a cluster. Must be called before the transaction
   * that uses the link, because the check calls the API server.
   */
  check(token: string | undefined): Promise<CheckedOwnerToken | null>
  /**
   * Returns whether the token entitles its user to become an owner. If so, deletes all links. Must be called in the
   * transaction that gives the user the role owner.
   */
  use(q: Query, checked: CheckedOwnerToken | null): Promise<boolean>
  /**
   * Gives the signed-in user the role of the first owner. Throws `forbidden` for an invalid link, and once an owner
   * exists.
   */
  redeem(user: UserPrincipal, token: string): Promise<void>
}

/**
 * Creates the service for owner links. An owner link makes its user the first owner. The token of a link is random, for
 * one use, and valid for an hour.
 */
export function createOwnerLinks({ db, orgId, secret }: OwnerLinksDeps): OwnerLinks {
  const note = (q: Query, actor: Actor, change: string) =>
    recordEvent(q, { orgId, actor, type: 'settings.updated', details: { change } })
  const check: OwnerLinks['check'] = async (token) => {
    if (token === undefined) return null
    const isAsked = secret !== null && !(await hasOwner(db))
    return { token, isOfSecret: isAsked && (await secret.matches(token)) }
  }
  const use: OwnerLinks['use'] = async (q, checked) => {
    if (checked === null || (await hasOwner(q))) return false
    const isValid = checked.isOfSecret || (await isOwnerLink(q, sha256(checked.token)))
    if (isValid) await deleteOwnerLinks(q)
    return isValid
  }
  return {
    check,
    use,
    async redeem(user, token) {
      const checked = await check(token)
      await db.tx(async (q) => {
        await lockRegistrations(q)
        await lockUserChanges(q)
        const found = user.via === 'session' ? await lockUser(q, user.userId) : undefined
        if (found?.status !== 'active' || !(await use(q, checked))) throw invalid()
        await updateUser(q, found.id, { role: 'owner', namespaces: null })
        const details = {
          user_id: found.id,
          email: found.email,
          from: found.role,
          to: 'owner',
          change: 'owner_link',
        }
        await recordEvent(q, { orgId, actor: actorOf(user), type: 'user.role_changed', details })
      })
    },
    make: (by, { isRequired }) =>
      db.tx(async (q) => {
        await lockRegistrations(q)
        if (await hasOwner(q)) return null
        if (secret !== null) throw inSecret(secret.name)
        const token = randomToken()
        await insertOwnerLink(q, sha256(token))
        await note(q, by, 'owner_link_made')
        if (isRequired && (await requireOwnerLink(q))) await note(q, by, 'owner_link_required')
        return token
      }),
  }
}

function inSecret(name: string): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail: `The link with which the first owner registers is in the Secret ${name}, so no other was created. Run kubectl chaperone owner-link for a new link.`,
  })
}

function invalid(): ChaperoneError {
  return new ChaperoneError('forbidden', {
    detail:
      'The link for the first owner has expired or was used, or there is already an owner. While there is no owner, run chaperone owner-link for a new link (in a cluster kubectl chaperone owner-link).',
  })
}

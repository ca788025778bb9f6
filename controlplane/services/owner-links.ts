import { ChaperoneError } from '../../core/errors.ts'
import { randomToken, sha256 } from '../crypto/tokens.ts'
import { recordEvent } from '../events.ts'
import type { Actor } from '../store/audit.ts'
import { requireOwnerLink } from '../store/orgs.ts'
import { deleteOwnerLinks, insertOwnerLink, isOwnerLink } from '../store/owner-links.ts'
import type { Db, Query } from '../store/query.ts'
import { hasOwner, lockRegistrations } from '../store/users.ts'
import type { OwnerLinkSecret } from './owner-link-secret.ts'

export type OwnerLinksDeps = {
  readonly db: Db
  readonly orgId: string
  /** The Secret that holds the link in a cluster; null elsewhere. */
  readonly secret: OwnerLinkSecret | null
}

/** A token of a link that was valid when it was checked. */
export type CheckedOwnerToken = { readonly token: string; readonly isOfSecret: boolean }

export type OwnerLinks = {
  /**
   * The token of a new link; null once there is an owner. `isRequired`: agents run on this machine, and from now on the
   * first owner registers through a link only. Throws `conflict` in a cluster, where a Secret holds the link.
   */
  make(by: Actor, options: { readonly isRequired: boolean }): Promise<string | null>
  /** Reads the Secret of a cluster, if any: before the transaction that uses the link. */
  check(token: string | undefined): Promise<CheckedOwnerToken | null>
  /** Whether the token makes an owner. Ends every link when it does; in the transaction that makes the owner. */
  use(q: Query, checked: CheckedOwnerToken | null): Promise<boolean>
}

/** Links that make the first owner: random, for one use, for an hour. */
export function createOwnerLinks({ db, orgId, secret }: OwnerLinksDeps): OwnerLinks {
  const note = (q: Query, actor: Actor, change: string) =>
    recordEvent(q, { orgId, actor, type: 'settings.updated', details: { change } })
  return {
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
    async check(token) {
      if (token === undefined) return null
      const isAsked = secret !== null && !(await hasOwner(db))
      return { token, isOfSecret: isAsked && (await secret.matches(token)) }
    },
    async use(q, checked) {
      if (checked === null || (await hasOwner(q))) return false
      const isValid = checked.isOfSecret || (await isOwnerLink(q, sha256(checked.token)))
      if (isValid) await deleteOwnerLinks(q)
      return isValid
    },
  }
}

function inSecret(name: string): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail: `The owner link of this installation is in the Secret ${name}. kubectl chaperone owner-link makes a new one`,
  })
}

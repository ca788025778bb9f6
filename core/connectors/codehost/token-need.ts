import type { Action } from '../../action/action.ts'
import type { CanonicalRequest } from '../../request/canonical.ts'
import { hasUnknownTarget } from '../binding/target-by-id.ts'
import { codehost } from '../codehost.ts'
import type { NeededAction, TokenNeed } from '../credentials/token-need.ts'
import { effectsOf } from '../effects/effects.ts'
import { once } from '../once.ts'

/**
 * Maximum number of repositories of one token. If a request needs more repositories, its token is not limited to any.
 */
const MAX_REPOSITORIES = 50
const REPOSITORY = /^[^/\s]+\/[^/\s]+$/
/** Permission to change files in the folder of workflows, besides `contents`. */
const WORKFLOWS = 'workflows:write'
/** Actions whose parameters have the paths of all files that they change. */
const WITH_PATHS: ReadonlySet<string> = new Set([
  'codehost.file.create',
  'codehost.file.update',
  'codehost.file.delete',
  'codehost.graphql.createCommitOnBranch',
])

/** Permissions of GraphQL operations without an equivalent row in the REST tables. */
const OF_GRAPHQL: ReadonlyMap<string, readonly string[]> = new Map([
  ['codehost.graphql.createCommitOnBranch', ['contents:write', WORKFLOWS]],
])

/**
 * Permissions by action. Null for an action that has a row without permissions, because the name alone does not show
 * which of its operations a request performs.
 */
const byAction = once(() => {
  const known = new Map<string, readonly string[] | null>(OF_GRAPHQL)
  for (const { type, permissions } of codehost.catalogue ?? []) {
    if (OF_GRAPHQL.has(type)) continue
    const others = known.get(type)
    if (permissions === undefined || others === null) known.set(type, null)
    else known.set(type, merged([...(others ?? []), ...permissions]))
  }
  return known
})

/** Returns the permissions that an installation token needs for an action of the code host; null if not known. */
export function permissionsOf(type: string): readonly string[] | null {
  return byAction().get(type) ?? null
}

/**
 * Returns the target of each action of a request, and whether the action may change workflows. Both determine the
 * repositories and permissions of the request's token.
 */
export function neededActions(
  actions: readonly Action[],
  { segments }: Pick<CanonicalRequest, 'segments'>,
): readonly NeededAction[] {
  // The gateway reads the trees of a push, so the effect classes of a push show whether it changes workflows.
  const isPush = segments.length <= 4 && (segments[2] === 'git-receive-pack' || segments[2] === 'info')
  return actions.map((action) => ({
    type: action.type,
    target: hasUnknownTarget(action) ? null : (action.resource.target ?? null),
    changes_workflows:
      effectsOf(action)?.includes('code_execution') === true || !(isPush || WITH_PATHS.has(action.type)),
  }))
}

/**
 * Returns the repositories and permissions that these actions need together. If the permissions of an action are not
 * known, returns the type of that action.
 */
export function permissionNeed(actions: readonly NeededAction[], readsMore: boolean): TokenNeed | string {
  const permissions: string[] = []
  const repositories = new Set<string>()
  let isBound = true
  for (const { type, target, changes_workflows: changesWorkflows } of actions) {
    const own = permissionsOf(type)
    if (own === null) return type
    permissions.push(...own.filter((permission) => changesWorkflows || permission !== WORKFLOWS))
    if (target !== null && REPOSITORY.test(target)) repositories.add(target.toLowerCase())
    else isBound = false
  }
  const isNarrow = isBound && repositories.size > 0 && repositories.size <= MAX_REPOSITORIES
  return {
    repositories: isNarrow ? [...repositories].sort() : null,
    permissions: merged(permissions),
    readsMore,
  }
}

const ACCESS = ['read', 'write', 'admin']

/** Returns the list sorted, with the highest access of each permission. */
function merged(permissions: readonly string[]): readonly string[] {
  const highest = new Map<string, number>()
  for (const permission of permissions) {
    const [name = '', access = ''] = permission.split(':')
    highest.set(name, Math.max(highest.get(name) ?? 0, ACCESS.indexOf(access)))
  }
  return [...highest].map(([name, at]) => `${name}:${ACCESS[at]}`).sort()
}

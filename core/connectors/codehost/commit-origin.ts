import type { Action } from '../../action/action.ts'
import type { EffectClass } from '../../action/effect-class.ts'
import { type CanonicalRequest, isRefusal } from '../../request/canonical.ts'
import type { LookUp, LookUpAnswer, LookUpPlace } from '../binding/look-up.ts'
import type { Classification, ConnectorConfig } from '../connector.ts'
import { baseOf } from '../domains.ts'
import { valuesOf } from '../effects/fields/field-rule.ts'
import { repositoryPath } from './pins.ts'

type Row = Pick<LookUp, 'name' | 'members' | 'keepMs' | 'keptWith'>

/** Time in ms for which a response is cached. The time is short, because a branch can be deleted at any time. */
const KEPT_MS = 60_000

const STATUS = ['status'] as const
/** Look-up that compares a commit with the default branch. */
const COMPARISON: Row = {
  name: 'commit_on_default_branch',
  members: [STATUS],
  keepMs: KEPT_MS,
  keptWith: STATUS,
}

const FIRST_BRANCH = ['0', 'name'] as const
/** Look-up that lists the branches whose head a commit is. */
const BRANCHES: Row = {
  name: 'branches_of_commit',
  members: [FIRST_BRANCH],
  keepMs: KEPT_MS,
  keptWith: FIRST_BRANCH,
}

/** Names of the look-ups of this file. */
export const COMMIT_LOOK_UPS: readonly string[] = [COMPARISON.name, BRANCHES.name]

const EFFECT: EffectClass = 'code_execution'

/** Actions that move a branch to a commit of the server. */
const ACTIONS: ReadonlySet<string> = new Set([
  'codehost.branch.create',
  'codehost.branch.update',
  'codehost.graphql.createLinkedBranch',
])

/**
 * Actions that take a branch or a commit of the server, with the parameter that names it. A name of a branch leads to a
 * commit of the repository itself.
 */
const BY_NAME: ReadonlyMap<string, string> = new Map([
  ['codehost.branch.merge', 'head'],
  ['codehost.release.create', 'target_commitish'],
  // The tag of a draft is created where an update publishes the release.
  ['codehost.release.update', 'target_commitish'],
])

/**
 * Adds `code_execution` as a possible effect class to each action that moves a branch to a commit, merges a commit, or
 * creates the tag of a release at a commit. A server also accepts the commits of pull requests from forks
 * (`refs/pull/N/head`). The workflows in such a commit then run in the repository, with its secrets, without a review
 * of the pull request.
 */
export function withCommitOrigin(named: Classification): Classification {
  if (isRefusal(named)) return named
  const add = (action: Action) => (takesCommit(action) ? withPossibleExecution(action) : action)
  return named.kind === 'candidates'
    ? { ...named, candidates: named.candidates.map(add) }
    : { ...named, actions: named.actions.map(add) }
}

function takesCommit({ type, parameters }: Action): boolean {
  const name = BY_NAME.get(type)
  return name === undefined
    ? ACTIONS.has(type)
    : valuesOf(parameters[name]).some((value) => CONTAINED_COMMIT.test(String(value)))
}

/** Makes `code_execution` the possible effect class of an action. */
export function withPossibleExecution(action: Action): Action {
  return { ...action, possibleEffects: [EFFECT] }
}

/**
 * Returns the look-ups that show whether the commit of an action is on a branch of the repository. Returns none over
 * GraphQL, where the request names the repository by an id.
 */
export function commitLookUps(action: Action, place: LookUpPlace): readonly LookUp[] {
  const sha = action.parameters[BY_NAME.get(action.type) ?? 'sha']
  if (!isOpen(action) || typeof sha !== 'string' || !COMMIT.test(sha)) return []
  const at = addressOf(place)
  if (at === null) return []
  const { host, path } = at
  return [
    // Only the first page lists the changed files, which the look-up does not need.
    { ...COMPARISON, method: 'GET', host, target: `${path}/compare/HEAD...${sha}?per_page=1&page=2` },
    { ...BRANCHES, method: 'GET', host, target: `${path}/commits/${sha}/branches-where-head` },
  ]
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i
/** Also matches spellings for which no look-up is sent, such as `SHA^0`. */
const CONTAINED_COMMIT = /[0-9a-f]{40}/i

/**
 * Replaces the possible effect class `code_execution` by the results of the look-ups (`answers`). If no response shows
 * that the commit is on a branch of the repository, the class becomes an effect class of the action.
 */
export function withKnownCommit(action: Action, answers: readonly LookUpAnswer[]): Action {
  if (!isOpen(action)) return action
  const { possibleEffects: _possible, ...rest } = action
  if (answers.some(isOnBranch)) return rest
  const isAnswered = answers.length > 0 && answers.every(({ values }) => values !== null)
  const reason = isAnswered ? REASON.certain : REASON.unanswered
  const nameReason = rest.nameReason === undefined ? reason : `${rest.nameReason} ${reason}`
  return { ...rest, effects: [...(rest.effects ?? []), EFFECT], nameReason }
}

function isOpen({ possibleEffects }: Action): boolean {
  return possibleEffects?.includes(EFFECT) === true
}

function isOnBranch({ lookUp, values }: LookUpAnswer): boolean {
  const [value] = values ?? []
  return lookUp.name === COMPARISON.name
    ? value === 'identical' || value === 'behind'
    : typeof value === 'string'
}

const REASON = {
  certain:
    'The commit is on no branch of the repository as far as look-ups show, so it may come from a fork, and its workflows would run with the secrets of the repository.',
  unanswered:
    'The commit may come from a fork, because no look-up at the provider has shown that it is on a branch of the repository, and its workflows would run with the secrets of the repository.',
} as const

type Address = { readonly host: string; readonly path: string }

/** Returns the REST address of the repository; null if the request does not name one in its path. */
function addressOf({ request, config }: LookUpPlace): Address | null {
  const { segments, host } = request
  if (segments.at(-1) === 'git-receive-pack') return gitAddress(request, config)
  const path = repositoryPath(request)
  return path === null ? null : { host, path }
}

/** Returns the REST address of the repository that a request of git over HTTP names. */
function gitAddress({ rawSegments, host }: CanonicalRequest, config: ConnectorConfig): Address | null {
  const [owner, repository] = rawSegments
  if (owner === undefined || repository === undefined) return null
  const path = `/repos/${owner}/${repository.replace(/\.git$/, '')}`
  const base = baseOf(config)
  if (base !== null) return { host: base.host, path: ['', ...base.segments].join('/') + path }
  return host === 'github.com' ? { host: 'api.github.com', path } : { host, path: `/api/v3${path}` }
}

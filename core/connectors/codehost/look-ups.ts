import type { Action, Resource } from '../../action/action.ts'
import { fold } from '../../action/pattern.ts'
import type { CanonicalRequest } from '../../request/canonical.ts'
import type { LookUp, LookUpAnswer, LookUpPlace, LookUps, LookUpValues } from '../binding/look-up.ts'
import { hasUnknownTarget, idsIn, repositoriesIn, type TargetId } from '../binding/target-by-id.ts'
import { AGENT_NAME, agentIds, withAgentNames } from './agent-ids.ts'
import { COMMIT_LOOK_UPS, commitLookUps, withKnownCommit } from './commit-origin.ts'
import { NODE } from './node-look-up.ts'
import { PULL_REQUEST_REASON } from './pull-request-number.ts'

type Row = Pick<LookUp, 'name' | 'members' | 'keepMs' | 'keptWith'>

/**
 * Time in ms for which the name of an id is cached. A renamed or transferred repository keeps its id, so the time is
 * short.
 */
const NAMES_KEPT_MS = 300_000

const REPOSITORY: Row = {
  name: 'repository',
  members: [['full_name']],
  keepMs: NAMES_KEPT_MS,
  keptWith: ['full_name'],
}
const ORGANIZATION: Row = {
  name: 'organization',
  members: [['login']],
  keepMs: NAMES_KEPT_MS,
  keptWith: ['login'],
}
/**
 * Look-up that finds out whether an issue number is that of a pull request. Only a positive response is cached,
 * because an issue can become a pull request.
 */
const ISSUE: Row = {
  name: 'issue',
  members: [['number'], ['pull_request']],
  keepMs: 3_600_000,
  keptWith: ['pull_request'],
}

/**
 * Look-ups of the code host. They resolve ids to a repository or an organization, resolve ids of labels and accounts to
 * names, and show whether an issue number is that of a pull request, and whether a commit is on a branch.
 */
export const CODEHOST_LOOK_UPS: LookUps = {
  of: (action, place) => [
    ...pullRequest(action, place),
    ...target(action, place),
    ...agentNames(action, place.request),
    ...commitLookUps(action, place),
  ],
  complete(action, answers, { agentTriggers }) {
    const settled = withPullRequest(action, find(answers, ISSUE))
    if (settled === null) return null
    const names = answers.filter(({ lookUp }) => lookUp.name === AGENT_NAME)
    const ofCommit = answers.filter(({ lookUp }) => COMMIT_LOOK_UPS.includes(lookUp.name))
    const ofTarget = answers.filter(({ lookUp }) => !OTHERS.includes(lookUp.name))
    return withKnownCommit(withAgentNames(withTarget(settled, ofTarget), names, agentTriggers), ofCommit)
  },
}

/** Names of the look-ups that do not resolve the target. */
const OTHERS: readonly string[] = [ISSUE.name, AGENT_NAME, ...COMMIT_LOOK_UPS]

/** Returns the look-ups that resolve the ids of labels and accounts (see `withAgentsById`). */
function agentNames(action: Action, request: CanonicalRequest): readonly LookUp[] {
  const lookUps = agentIds(action).map((id) => nodeLookUp(id, request))
  const known = lookUps.flatMap((lookUp) => (lookUp === null ? [] : [{ ...lookUp, name: AGENT_NAME }]))
  // The effect class can be settled only with the names of all ids, so a part of the look-ups would be useless.
  return known.length === lookUps.length ? known : []
}

function pullRequest(action: Action, { request }: LookUpPlace): readonly LookUp[] {
  const isIssue = action.isPossible === true && request.segments.at(-2) === 'issues'
  return isIssue ? [{ ...ISSUE, method: 'GET', host: request.host, target: request.rawPath }] : []
}

function withPullRequest(action: Action, answer: LookUpAnswer | undefined): Action | null {
  if (action.isPossible !== true) return action
  const { isPossible: _possible, ...rest } = action
  const [number, pullRequest] = answer?.values ?? []
  if (number === undefined) return { ...rest, nameReason: PULL_REQUEST_REASON.unanswered }
  return pullRequest === undefined ? null : { ...rest, nameReason: PULL_REQUEST_REASON.certain }
}

function target(action: Action, place: LookUpPlace): readonly LookUp[] {
  if (!hasUnknownTarget(action)) return []
  const lookUps = idsIn(action.parameters).map((id) => lookUpOf(id, place))
  const known = lookUps.flatMap((lookUp) => (lookUp === null ? [] : [lookUp]))
  // The target can be determined only with the owners of all ids, so a part of the look-ups would be useless.
  return known.length === lookUps.length ? known : []
}

function lookUpOf(id: TargetId, { request }: LookUpPlace): LookUp | null {
  const row = BY_NUMBER[id.name]
  return row === undefined ? nodeLookUp(id.value, request) : numberLookUp(row, id.value, request)
}

type NumberRow = { readonly lookUp: Row; readonly folder: string }

const BY_NUMBER: Readonly<Record<string, NumberRow>> = {
  repository_number: { lookUp: REPOSITORY, folder: 'repositories' },
  organization_number: { lookUp: ORGANIZATION, folder: 'organizations' },
}

/** Returns the look-up that resolves a numeric id. Its path is the path of the request up to the number. */
function numberLookUp(row: NumberRow, value: unknown, request: CanonicalRequest): LookUp | null {
  const { segments, rawSegments } = request
  const at = segments.findIndex((one, i) => one === row.folder && segments[i + 1] === String(value))
  if (at === -1) return null
  const path = rawSegments.slice(0, at + 2)
  const isUploads = segments[0] === 'api' && segments[1] === 'uploads'
  const target = `/${[...(isUploads ? ['api', 'v3', ...path.slice(2)] : path)].join('/')}`
  return { ...row.lookUp, method: 'GET', host: UPLOADS[request.host] ?? request.host, target }
}

/** Upload hosts, each with the REST host that serves its look-ups. */
const UPLOADS: Readonly<Record<string, string>> = { 'uploads.github.com': 'api.github.com' }

const MAX_ID = 256

function nodeLookUp(id: unknown, { segments, host, rawPath }: CanonicalRequest): LookUp | null {
  if (typeof id !== 'string' || id.length > MAX_ID || segments.at(-1) !== 'graphql') return null
  const { name, members, query } = NODE
  const kept = { keepMs: NAMES_KEPT_MS, keptWith: members[0] }
  const body = JSON.stringify({ query, variables: { id } })
  return { name, members, ...kept, method: 'POST', host, target: rawPath, body }
}

/** Sets the target of the action if all its ids belong to one repository or organization. */
function withTarget(action: Action, ofTarget: readonly LookUpAnswer[]): Action {
  if (!hasUnknownTarget(action) || ofTarget.length === 0) return action
  const owners = ofTarget.map(({ lookUp, values }) => ownerOf(lookUp, values))
  const named = repositoriesIn(action.parameters)
  const names = [...owners, ...named].filter((name) => name !== 'nobody')
  const [first] = names
  const isOne = names.every((name) => typeof name === 'string' && fold(name) === fold(String(first)))
  if (typeof first !== 'string' || !isOne) return action
  const resource: Resource = { ...action.resource, account: first.split('/')[0] ?? first, target: first }
  return { ...action, resource }
}

/** Returns `owner/name` of a repository, the name of an organization, `nobody` for a user or a team; else undefined. */
function ownerOf({ name }: LookUp, values: LookUpValues): string | undefined {
  if (values === null) return undefined
  const owner = name === NODE.name ? NODE.ownerOf(values) : values[0]
  return typeof owner === 'string' && OWNER.test(owner) ? owner : undefined
}

const OWNER = /^[\w.-]{1,100}(?:\/[\w.-]{1,100})?$/

function find(answers: readonly LookUpAnswer[], { name }: Row): LookUpAnswer | undefined {
  return answers.find(({ lookUp }) => lookUp.name === name)
}

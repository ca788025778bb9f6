import type { FieldNode } from 'graphql'
import type { Action, Effect, RiskLevel } from '../../../action/action.ts'
import { idsIn, repositoriesIn } from '../../binding/target-by-id.ts'
import type { ConnectorConfig, Row } from '../../connector.ts'
import { isRecord } from '../../fields/fields.ts'
import { type ActionParts, namedAction } from '../../named-action.ts'
import { isForced, withReferenceActions } from '../references.ts'
import { MILD, MUTATION_TABLE, type MutationRow } from './mutation-table.ts'
import { argumentsOf, type Variables } from './values.ts'

/** Effect, risk and hints by action name, read from the REST rows, so that REST and GraphQL agree. */
export type Known = ReadonlyMap<string, Pick<Row, 'effect' | 'risk' | 'hints'>>

export type Given = { readonly variables: Variables; readonly known: Known; readonly config: ConnectorConfig }

/** Returns the actions of one mutation field; a field that moves several references has several actions. */
export function mutationActions(field: FieldNode, given: Given): readonly Action[] {
  const name = field.name.value
  const { input, ...rest } = argumentsOf(field, given.variables)
  const own = isRecord(input) ? input : rest
  if (name === 'updateRefs') return referenceActions(own, given)
  if (name === 'createCommitOnBranch') return commitActions(own, given)
  const row = chooseRow(MUTATION_TABLE.get(name) ?? [], own)
  return withReferenceActions(
    row === undefined ? ownAction(name, own, given.config) : rowAction(row, own, given),
  )
}

type Input = Readonly<Record<string, unknown>>

function chooseRow(rows: readonly MutationRow[], input: Input): MutationRow | undefined {
  const met = rows.find(({ when }) => when !== undefined && input[when.key] === when.equals)
  return met ?? rows.find(({ when }) => when === undefined)
}

function rowAction(row: MutationRow, input: Input, { known, config }: Given): Action {
  const type = `codehost.${row.action}`
  const { effect, risk, hints } = known.get(type) ?? { effect: 'write', risk: 'high', hints: {} }
  const action = build({ type, effect, risk, hints, input, renamed: row.parameters }, config)
  return row.isDeferred === undefined ? action : { ...action, isDeferred: row.isDeferred }
}

/**
 * Returns the action of a mutation field without a REST equivalent. The action bears the name of the field and has
 * high risk, unless `MILD` lists the field.
 */
function ownAction(field: string, input: Input, config: ConnectorConfig): Action {
  const risk = MILD.get(field) ?? 'high'
  return build(
    { type: `codehost.graphql.${field}`, effect: 'write', risk, input, renamed: new Map() },
    config,
  )
}

type Parts = {
  readonly type: string
  readonly effect: Effect
  readonly risk: RiskLevel
  readonly hints?: Readonly<Record<string, boolean>> | undefined
  readonly input: Input
  readonly renamed: ReadonlyMap<string, string>
}

/**
 * Builds an action whose parameters are the input fields, under the REST name if there is one, else under the GraphQL
 * name.
 */
function build({ type, effect, risk, hints, input, renamed }: Parts, config: ConnectorConfig): Action {
  const parameters = Object.fromEntries(
    Object.entries(input)
      .filter(([key]) => key !== 'clientMutationId')
      .map(([key, value]) => [renamed.get(key) ?? key, value]),
  )
  const target = repositoryIn(parameters)
  return namedAction({ connector: 'codehost', type, effect, risk, parameters, hints, ...target }, config)
}

/**
 * Returns the target and the account of a mutation whose arguments contain exactly one repository as `owner/name` and no
 * node id. Returns neither for other mutations.
 */
function repositoryIn(parameters: Input): Pick<ActionParts, 'target' | 'account'> {
  const [target, ...others] = idsIn(parameters).length === 0 ? repositoriesIn(parameters) : []
  if (typeof target !== 'string' || others.length > 0) return {}
  return { target, account: target.split('/')[0] }
}

const NOTHING = /^0+$/
/** Matches the object id of a reference that must not exist yet. Servers may ignore any other id. */
const NO_REFERENCE = /^(?:0{40}|0{64})$/

/**
 * Returns the action of each reference of the mutation `updateRefs`, with its further actions. The old and the new
 * object id determine whether the mutation creates, moves or deletes the reference. A forced update never counts as a
 * creation, because a client has no reason to force the creation of a reference.
 */
function referenceActions(input: Input, given: Given): readonly Action[] {
  // GraphQL servers accept a single value in place of a list.
  const updates = [input['refUpdates'] ?? []].flat()
  const actions = updates.flatMap((update) =>
    withReferenceActions(referenceAction(isRecord(update) ? update : {}, given)),
  )
  return actions.length > 0 ? actions : [ownAction('updateRefs', input, given.config)]
}

function referenceAction(update: Input, given: Given): Action {
  const { beforeOid, afterOid, force } = update
  const isDeleted = typeof afterOid === 'string' && NOTHING.test(afterOid)
  const isNew = typeof beforeOid === 'string' && NO_REFERENCE.test(beforeOid) && !isForced(force)
  const verb = isDeleted ? 'delete' : isNew ? 'create' : 'update'
  const parameters = new Map([
    ['name', 'ref'],
    ['afterOid', 'sha'],
  ])
  return rowAction({ action: `branch.${verb}`, parameters }, update, given)
}

const FILE_DELETION: MutationRow = { action: 'file.delete', parameters: new Map([['branchName', 'branch']]) }

/**
 * Returns the actions of the mutation `createCommitOnBranch`. A commit that deletes files also has the action
 * `file.delete`, as a deletion over REST does.
 */
function commitActions(input: Input, given: Given): readonly Action[] {
  const commit = ownAction('createCommitOnBranch', input, given.config)
  const { fileChanges, branch } = input
  const deletions = isRecord(fileChanges) ? [fileChanges['deletions'] ?? []].flat() : []
  if (deletions.length === 0) return [commit]
  const paths = deletions.map((deletion) => (isRecord(deletion) ? deletion['path'] : deletion))
  const path = paths.length === 1 ? paths[0] : paths
  return [commit, rowAction(FILE_DELETION, { path, ...(isRecord(branch) ? branch : {}) }, given)]
}

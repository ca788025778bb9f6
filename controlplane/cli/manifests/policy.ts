import { basename } from 'node:path'
import { LineCounter } from 'yaml'
import { createCatalogue } from '../../../core/connectors/catalogue.ts'
import { readYamlDocuments } from '../../../core/crd/manifests/yaml-documents.ts'
import { PolicyDocument } from '../../../core/crd/policy/policy-document.ts'
import { policyDocumentOf } from '../../../core/crd/policy/policy-spelling.ts'
import { type PolicyTestResult, runPolicyTests } from '../../../core/decision/policies/policy-tests.ts'
import { policyWarnings } from '../../../core/decision/policies/policy-warnings.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { usageError } from '../arguments.ts'
import { type Command, EXIT, flag, type Invocation } from '../command.ts'
import { type CheckedPolicy, checkGroups, type GroupOutcome } from './approver-groups.ts'
import { checkManifest, type ManifestFile, readManifestFiles } from './manifest-files.ts'

type Tested = CheckedPolicy & {
  readonly policy: string
  readonly tests: readonly PolicyTestResult[]
}

export const policy: Command = {
  name: 'policy',
  summary: 'Run the tests in policies; works offline',
  usage: ['policy test FILE|DIR... [--strict] [--groups NAME,...]'],
  details:
    'A file contains Policy manifests, or one policy document without a kind (description, scope, rules, tests).\n' +
    'Unknown actions, unknown risk hints and approver groups without members are warnings. The groups are those of --groups,\n' +
    'else of the control plane on this machine or at CHAPERONE_URL; without either, groups are not checked.\n' +
    'With --json, groups_checked is null where no policy names a group.\n' +
    'Exit code 1: a test fails or a policy does not compile; with --strict also a warning, or a control plane that does not answer.',
  maxArguments: Number.POSITIVE_INFINITY,
  options: {
    strict: { type: 'boolean', help: 'treat warnings as errors' },
    groups: { type: 'string', value: 'NAME,...', help: 'approver groups that have members' },
  },
  examples: [
    ['chaperone policy test policies/', 'test every policy of a folder'],
    ['chaperone policy test policies/ --strict', 'test a folder and treat warnings as errors'],
    ['chaperone policy test 90-policy.yaml --json', 'print the results as JSON'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const names = filesOf(invocation)
  const { tested, outcome } = await withGroups(
    invocation,
    readManifestFiles(names, invocation.cwd).flatMap(testFile),
  )
  const { print } = invocation.terminal
  const policies = tested.map(({ policy: name, tests, warnings }) => ({ policy: name, tests, warnings }))
  if (flag(invocation, 'json')) print(JSON.stringify({ policies, groups_checked: areChecked(outcome) }))
  else for (const line of tested.flatMap(resultLines)) print(line)
  if (tested.length === 0) throw new ChaperoneError('conflict', { detail: 'The files contain no policy.' })
  const isStrictlyRefused = [reportWarnings(invocation, tested), reportGroups(invocation, outcome)].includes(
    true,
  )
  const results = tested.flatMap(({ tests }) => tests)
  const failed = results.filter(({ passed }) => !passed).length
  if (!flag(invocation, 'json')) print(`${results.length - failed} passed, ${failed} failed`)
  return failed > 0 || isStrictlyRefused ? EXIT.refused : EXIT.ok
}

type Checked = { readonly tested: readonly Tested[]; readonly outcome: GroupOutcome }

async function withGroups(invocation: Invocation, offline: readonly Tested[]): Promise<Checked> {
  const { warnings, outcome } = await checkGroups(policy, invocation, offline)
  const tested = offline.map((one, index) => ({
    ...one,
    warnings: [...one.warnings, ...(warnings[index] ?? [])],
  }))
  return { tested, outcome }
}

/** Reports whether the approver groups of policies were checked; null when no policy names a group. */
function areChecked({ kind }: GroupOutcome): boolean | null {
  return kind === 'none' ? null : kind === 'checked'
}

/** Prints why approver groups were not checked. Returns true when `--strict` makes that an error. */
function reportGroups(invocation: Invocation, outcome: GroupOutcome): boolean {
  if (outcome.kind !== 'unchecked' && outcome.kind !== 'failed') return false
  const isError = outcome.kind === 'failed' && flag(invocation, 'strict')
  invocation.terminal.warn(`${isError ? 'error: ' : ''}Approver groups were not checked: ${outcome.reason}`)
  return isError
}

/** Prints the warnings of policies. Returns true when `--strict` makes one of them an error. */
function reportWarnings(invocation: Invocation, tested: readonly Tested[]): boolean {
  const isStrict = flag(invocation, 'strict')
  const warnings = tested.flatMap(({ policy: name, warnings: own }) => own.map((text) => `${name}: ${text}`))
  for (const text of warnings) invocation.terminal.warn(`${isStrict ? 'error' : 'warning'}: ${text}`)
  return isStrict && warnings.length > 0
}

function filesOf({ positionals: [verb, ...names] }: Invocation): readonly string[] {
  if (verb === undefined) throw usageError(policy, 'Usage: chaperone policy test FILE.')
  if (verb !== 'test')
    throw usageError(policy, `policy ${verb} is not a command. Usage: chaperone policy test FILE.`)
  if (names.length === 0) throw usageError(policy, 'Give the files: chaperone policy test FILE.')
  return names
}

function testFile(file: ManifestFile): Tested[] {
  const { knownAction } = createCatalogue()
  const bare = PolicyDocument.safeParse(bareDocument(file))
  const tested = (policy: string, document: PolicyDocument, namespace?: string): Tested => ({
    policy,
    document,
    namespace,
    tests: testsOf(document),
    warnings: policyWarnings(document),
  })
  const testsOf = (document: PolicyDocument) => {
    try {
      return runPolicyTests(document, knownAction)
    } catch (error) {
      if (!(error instanceof ChaperoneError) || error.code !== 'validation') throw error
      throw new ChaperoneError('conflict', { detail: `${basename(file.path)}: ${error.message}` })
    }
  }
  if (bare.success) return [tested(basename(file.path), bare.data)]
  const { resources, problems } = checkManifest(file)
  if (problems.length > 0) throw new ChaperoneError('conflict', { detail: problems.join('\n') })
  return resources.flatMap((resource) => {
    if (resource.kind !== 'Policy') return []
    const { name, namespace } = resource.metadata
    return [tested(name, policyDocumentOf(resource.spec), namespace)]
  })
}

/**
 * Returns the content of a policy file without a kind, if the file is one valid YAML document. Returns undefined for
 * any other file, because such a file is checked as a manifest.
 */
function bareDocument({ text }: ManifestFile): unknown {
  if (/^kind:/m.test(text)) return undefined
  const { documents, tooDeepAt } = readYamlDocuments(text, new LineCounter())
  const [document, second] = documents
  const isSound = tooDeepAt === null && document !== undefined && document.errors.length === 0
  return isSound && second === undefined ? document.toJS() : undefined
}

function resultLines({ policy: name, tests }: Tested): string[] {
  if (tests.length === 0) return [`${name}: no tests`]
  return tests.map(({ name: test, passed, expected, got }) =>
    passed ? `ok    ${name}: ${test}` : `FAIL  ${name}: ${test} (expected ${expected}, got ${got})`,
  )
}

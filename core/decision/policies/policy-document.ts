import { type Document, LineCounter } from 'yaml'
import * as z from 'zod'
import { readYamlDocuments } from '../../crd/manifests/yaml-documents.ts'
import { PolicyDocument } from '../../crd/policy/policy-document.ts'
import { PolicyRecord } from '../../crd/policy/policy-spec.ts'
import { ChaperoneError } from '../../errors.ts'
import { fieldPath } from '../../field-path.ts'
import { manifestText, type Problem } from '../../problem.ts'
import { parseFields } from '../../schema/parse-fields.ts'
import { unstorableIn } from '../../storable.ts'
import { compileCondition } from '../conditions/condition.ts'
import { patternsOf, ruleAboutOf } from './compile-policy.ts'
import { fieldProblem, invalid, invalidText, type LineOf, yamlProblem } from './policy-problems.ts'
import { policyWarnings } from './policy-warnings.ts'
import { undeclaredNames } from './undeclared-parameters.ts'

/**
 * Fields that the control plane stores in addition to the policy's text. The text may repeat these fields, but must
 * not contradict them.
 */
const RecordFields = PolicyRecord.partial().extend({ name: z.string().min(1).max(253).optional() })

export type RepeatedFields = z.infer<typeof RecordFields>

export type ParsedPolicy = {
  readonly document: PolicyDocument
  /** Full sentences about content that is valid but probably not intended. */
  readonly warnings: readonly string[]
  /** Stored fields that the text also contains (see `assertRepeatedFieldsAgree`). */
  readonly repeated: RepeatedFields
}

const MAX_TEXT = 256 * 1024

const MAX_ALIASES = 64

/** Maximum number of open collections and items while parsing; a valid policy has about twenty. */
const MAX_OPEN = 100

/**
 * Parses `policyYaml`. Throws ChaperoneError `validation` with `problems`: YAML errors (including duplicate keys),
 * unknown or invalid fields, and conditions that do not compile.
 */
export function parsePolicyYaml(text: string): ParsedPolicy {
  const { document, repeated, lineOf } = readPolicyYaml(text)
  const failures = conditionFailures(document, lineOf)
  if (failures.length > 0) throw invalid(failures)
  return { document, warnings: policyWarnings(document), repeated }
}

/**
 * Parses the text of a stored policy without compiling its conditions, because another version of the product may have
 * accepted conditions that this version rejects.
 */
export function readStoredPolicy(text: string): PolicyDocument {
  return readPolicyYaml(text).document
}

/** Returns the problems of conditions that do not compile, each with its field: `spec.rules[0].conditions[0]: …`. */
export function documentProblems(document: PolicyDocument): readonly string[] {
  return conditionFailures(document, () => null).map(manifestText)
}

type ReadPolicy = Pick<ParsedPolicy, 'document' | 'repeated'> & { readonly lineOf: LineOf }

function readPolicyYaml(text: string): ReadPolicy {
  if (text.length > MAX_TEXT) throw invalidText(`the policy is longer than ${MAX_TEXT / 1024} KiB`)
  const lines = new LineCounter()
  const yaml = readYaml(text, lines)
  if (yaml.errors.length > 0) throw invalid(yaml.errors.map((error) => yamlProblem(error, lines)))
  const lineOf: LineOf = (path) => lineAt(yaml, lines, path)
  const value = plainValue(yaml)
  const unstorable = unstorableIn(value)
  if (unstorable !== null) {
    const { path, why } = unstorable
    throw invalid([fieldProblem(path, why, lineOf)])
  }
  const { own, repeated } = splitFields(value, lineOf)
  return { document: validated(PolicyDocument, own, lineOf), repeated, lineOf }
}

/**
 * Throws `validation` (400) if the text contains a field that the control plane also stores, with another value than
 * the stored one.
 */
export function assertRepeatedFieldsAgree(repeated: RepeatedFields, record: RepeatedFields): void {
  const differing = Object.entries(repeated).filter(([name, value]) => {
    const own = record[name as keyof RepeatedFields]
    return own !== undefined && JSON.stringify(own) !== JSON.stringify(value)
  })
  if (differing.length === 0) return
  const names = differing.map(([name]) => name)
  throw invalid(
    names.map((name) => ({
      code: 'record',
      field: name,
      line: null,
      message:
        'the policy text and the fields of the request differ; give both the same value, or remove the field from the text',
    })),
  )
}

function readYaml(text: string, lines: LineCounter): Document.Parsed {
  const { documents, tooDeepAt } = readYamlDocuments(text, lines, MAX_OPEN)
  const lineOf = (offset: number) => lines.linePos(offset).line
  if (tooDeepAt !== null)
    throw invalidText('the policy is nested too deeply; use fewer than ten levels', lineOf(tooDeepAt))
  const [first, second] = documents
  if (second !== undefined) {
    const line = lineOf(second.range[0])
    throw invalidText('a policy must be one YAML document; remove everything after `---`', line)
  }
  if (first === undefined) throw invalidText('the policy must be a mapping with scope and rules')
  return first
}

function plainValue(yaml: Document.Parsed): unknown {
  try {
    return yaml.toJS({ maxAliasCount: MAX_ALIASES })
  } catch (cause) {
    throw invalidText(
      `the YAML uses too many aliases (${cause instanceof Error ? cause.message : String(cause)})`,
    )
  }
}

function splitFields(value: unknown, lineOf: LineOf): { own: unknown; repeated: RepeatedFields } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidText('the policy must be a mapping with scope and rules')
  }
  const entries = Object.entries(value)
  const isRecord = ([name]: [string, unknown]): boolean => name in RecordFields.shape
  const stated = Object.fromEntries(entries.filter(isRecord))
  return {
    own: Object.fromEntries(entries.filter((entry) => !isRecord(entry))),
    repeated: onlyStated(validated(RecordFields, stated, lineOf), stated),
  }
}

/** Returns only the fields that the text contains, without the defaults of the schema. */
function onlyStated(parsed: RepeatedFields, stated: object): RepeatedFields {
  return Object.fromEntries(Object.entries(parsed).filter(([name]) => name in stated))
}

function validated<T>(schema: z.ZodType<T>, value: unknown, lineOf: LineOf): T {
  const { data, problems } = parseFields(schema, value)
  if (problems === null) return data
  throw invalid(
    problems.map(({ path, message, isUnknown }) =>
      fieldProblem(path, isUnknown ? `is unknown; ${message}` : message, lineOf),
    ),
  )
}

function conditionFailures(document: PolicyDocument, lineOf: LineOf): Problem[] {
  const failures: Problem[] = []
  const patterns = patternsOf(document.scope)
  document.rules.forEach((rule, ruleIndex) => {
    const isAbout = ruleAboutOf(rule, patterns)
    rule.conditions.forEach((text, index) => {
      const path = ['rules', ruleIndex, 'conditions', index]
      const fail = (message: string) =>
        failures.push({ code: 'condition', field: fieldPath(path), line: lineOf(path), message })
      try {
        compileCondition(text, { rule: rule.name, index }, isAbout)
        const place = `rule "${rule.name}", condition ${index + 1}`
        for (const error of undeclaredNames(text, patterns).errors) fail(`${place}: ${error}`)
      } catch (cause) {
        if (!(cause instanceof ChaperoneError)) throw cause
        fail(cause.message)
      }
    })
  })
  return failures
}

/** Returns the line of the YAML node at the path, or of its nearest existing ancestor. */
function lineAt(yaml: Document.Parsed, lines: LineCounter, path: readonly PropertyKey[]): number {
  for (let length = path.length; length >= 0; length--) {
    const node: unknown = length === 0 ? yaml.contents : yaml.getIn(path.slice(0, length), true)
    const start = startOf(node)
    if (start !== null) return lines.linePos(start).line
  }
  return 1
}

function startOf(node: unknown): number | null {
  if (typeof node !== 'object' || node === null || !('range' in node) || !Array.isArray(node.range))
    return null
  const [start] = node.range as unknown[]
  return typeof start === 'number' ? start : null
}

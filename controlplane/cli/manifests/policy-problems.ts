import { basename } from 'node:path'
import { createCatalogue } from '../../../core/connectors/catalogue.ts'
import type { PolicySpec } from '../../../core/crd/policy/policy-spec.ts'
import { policyDocumentOf } from '../../../core/crd/policy/policy-spelling.ts'
import type { ManifestResource } from '../../../core/crd/schemas.ts'
import { documentProblems } from '../../../core/decision/policies/policy-document.ts'
import { runPolicyTests } from '../../../core/decision/policies/policy-tests.ts'
import type { ManifestFile } from './manifest-files.ts'

/**
 * Finds problems for which the control plane would not accept the policies of a file: conditions that do not compile,
 * and policy tests that fail. Each problem has the form `file: Policy name: problem`.
 */
export function policyProblems(
  { path }: Pick<ManifestFile, 'path'>,
  resources: readonly ManifestResource[],
): readonly string[] {
  return resources.flatMap((resource) => {
    if (resource.kind !== 'Policy') return []
    const place = `${basename(path)}: Policy ${resource.metadata.name}`
    return problemsOf(resource.spec).map((problem) => `${place}: ${problem}`)
  })
}

function problemsOf(spec: PolicySpec): readonly string[] {
  const document = policyDocumentOf(spec)
  const problems = documentProblems(document)
  if (problems.length > 0) return problems
  return runPolicyTests(document, createCatalogue().knownAction)
    .filter(({ passed }) => !passed)
    .map(({ name, expected, got }) => `the test "${name}" fails: expected ${expected}, got ${got}`)
}

import type * as z from 'zod'
import { canonicalName } from '../connectors/names.ts'
import { fold } from './pattern.ts'
import { ActionSpec, type ResourceSpec } from './spec.ts'

type Problem = { readonly field: 'target' | 'organization' | 'repository'; readonly message: string }

/**
 * Action spec as submitted by an agent. On the code host the resource must be unambiguous: `target` and `organization`
 * with `repository` name the same repository, and every name is valid on a code host. Otherwise an approver could see
 * one repository and the execution could use another: rules, approvers and the audit log use `target`, the execution
 * uses `organization` and `repository`.
 */
export const SubmittedSpec = ActionSpec.superRefine(({ type, resource }, context) => {
  if (!isOfCodehost(type, resource)) return
  for (const { field, message } of problemsOf(type, resource))
    context.addIssue({ code: 'custom', path: ['resource', field], message })
})

type CodehostResource = z.infer<typeof ResourceSpec>

function isOfCodehost(type: string, { provider }: CodehostResource): boolean {
  return fold(type).startsWith('codehost.') || fold(provider) === 'codehost'
}

function problemsOf(type: string, resource: CodehostResource): readonly Problem[] {
  const { target, organization, repository } = resource
  const problems = [
    ...nameProblem('organization', organization),
    ...nameProblem('repository', repository),
    ...(target === undefined || isAddress(type) ? [] : pathProblem(target)),
  ]
  return problems.length > 0 ? problems : contradiction(resource)
}

const SPACE = /[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\\]/u

function nameProblem(field: 'organization' | 'repository', name: string | undefined): readonly Problem[] {
  if (name === undefined || isSegment(name)) return []
  return [
    {
      field,
      message: 'must be one name that is not empty and has no slashes, blanks or control characters',
    },
  ]
}

function pathProblem(target: string): readonly Problem[] {
  if (target.split('/').every(isSegment)) return []
  const message =
    'must be <owner>/<repo>, without a scheme, blanks, control characters, empty segments or dot segments'
  return [{ field: 'target', message }]
}

function isSegment(text: string): boolean {
  return !/^\.{0,2}$/.test(text) && !text.includes('/') && !SPACE.test(text)
}

/** Reports whether the target of an action is an address (`host/path`) instead of a repository. */
function isAddress(type: string): boolean {
  return /^codehost\.(unmapped|graphql)\./.test(fold(type))
}

function contradiction({ target, organization, repository }: CodehostResource): readonly Problem[] {
  if (target === undefined) return []
  const [owner, name] = canonicalName('repository', target).split('/')
  const isSame =
    (organization === undefined || canonicalName('name', organization) === owner) &&
    (repository === undefined || canonicalName('repository', repository) === name)
  if (isSame) return []
  return [{ field: 'target', message: 'differs from organization and repository; remove one of them' }]
}

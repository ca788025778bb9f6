import { describe, expect, test } from 'vitest'
import { effectsOf } from '../../../../core/connectors/effects/effects.ts'
import { boundOf, nameRequest, rawOf, USUAL_HOST } from '../golden.ts'

/** Returns the effect classes of each action of a request to the code host. */
function effects(method: string, target: string, body: unknown) {
  const text = JSON.stringify(body)
  const headers = [['Content-Type', 'application/json']] as const
  const raw = rawOf({ method, target, headers, body: text }, USUAL_HOST.codehost)
  const named = nameRequest(boundOf('codehost'), raw, text)
  if (named.kind !== 'actions') throw new Error(JSON.stringify(named))
  return Object.fromEntries(named.actions.map((action) => [action.type, effectsOf(action)]))
}

const mutation = (text: string) => [
  'POST',
  '/graphql',
  { query: `mutation { ${text} { clientMutationId } }` },
]

type Sent = readonly unknown[]

/** Requests by REST and by GraphQL with a text of the caller that becomes a comment or a description. */
const requests = (text: string): ReadonlyArray<readonly [string, string, Sent]> => [
  [
    'the text of a closed pull request',
    'pr.close',
    ['PATCH', '/repos/o/r/pulls/7', { state: 'closed', body: text }],
  ],
  [
    'the same by GraphQL',
    'pr.close',
    mutation(`updatePullRequest(input: {pullRequestId: "PR_7", state: CLOSED, body: "${text}"})`),
  ],
  [
    'the text of a closed issue',
    'issue.close',
    ['PATCH', '/repos/o/r/issues/7', { state: 'closed', body: text }],
  ],
  [
    'the reason of a dismissed review',
    'pr_review.dismiss',
    ['PUT', '/repos/o/r/pulls/7/reviews/1/dismissals', { message: text }],
  ],
  [
    'the same by GraphQL',
    'pr_review.dismiss',
    mutation(`dismissPullRequestReview(input: {pullRequestReviewId: "R_1", message: "${text}"})`),
  ],
  [
    'a review that is submitted',
    'pr.review',
    ['POST', '/repos/o/r/pulls/7/reviews/1/events', { event: 'COMMENT', body: text }],
  ],
  [
    'a comment on a commit',
    'commit_comment.create',
    ['POST', '/repos/o/r/commits/abc/comments', { body: text }],
  ],
  [
    'a draft, which later becomes an issue',
    'project_item.create_draft',
    ['POST', '/orgs/o/projectsV2/1/drafts', { title: 'x', body: text }],
  ],
  [
    'the same by GraphQL',
    'graphql.updateProjectV2DraftIssue',
    mutation(`updateProjectV2DraftIssue(input: {draftIssueId: "D_1", body: "${text}"})`),
  ],
  [
    'a discussion of a team',
    'team_discussion.create',
    ['POST', '/orgs/o/teams/t/discussions', { title: 'x', body: text }],
  ],
  [
    'its comment',
    'team_discussion_comment.create',
    ['POST', '/orgs/o/teams/t/discussions/1/comments', { body: text }],
  ],
]

describe('a text that calls an agent', () => {
  test.each(requests('Well, @claude do it'))('%s is delegate: %s', (_what, name, [method, target, body]) => {
    expect(effects(String(method), String(target), body)[`codehost.${name}`]).toContain('delegate')
  })

  test.each(requests('mail me@claude.test'))(
    '%s is not delegate with another text: %s',
    (_what, name, sent) => {
      const [method, target, body] = sent
      expect(effects(String(method), String(target), body)[`codehost.${name}`]).not.toContain('delegate')
    },
  )
})

import { describe, expect, it } from 'vitest'
import { completeMutation } from '../../../core/connectors/codehost/graphql/complete.ts'

const COMMIT = 'a'.repeat(40)
const request = (query: string, variables?: object) => JSON.stringify({ query, variables })

describe('the commit in a mutation', () => {
  it('is added to the input in the document, and to nothing else', () => {
    const query = 'mutation { mergePullRequest(input: {pullRequestId: "PR_1"}) { clientMutationId } }'
    expect(completeMutation(request(query), COMMIT)).toEqual({
      member: 'expectedHeadOid',
      text: request(query.replace('{pullRequestId', `{expectedHeadOid: "${COMMIT}", pullRequestId`)),
    })
  })

  it('is added to the input in the variables, and numbers and blanks stay unchanged', () => {
    const query =
      'mutation M($input: MergePullRequestInput!) { mergePullRequest(input: $input) { clientMutationId } }'
    const text = `{ "variables" : { "x": 12345678901234567890, "in\\u0070ut" : {"pullRequestId":"a\\"}b"} }, "query": ${JSON.stringify(query)} }`
    expect(completeMutation(text, COMMIT)?.text).toBe(
      text.replace('{"pullRequestId"', `{"expectedHeadOid":"${COMMIT}","pullRequestId"`),
    )
  })

  it.each([
    ['enqueuePullRequest', 'expectedHeadOid'],
    ['updatePullRequestBranch', 'expectedHeadOid'],
    ['addPullRequestReview', 'commitOID'],
  ])('of %s is %s', (name, member) => {
    const query = `mutation { ${name}(input: {pullRequestId: $id}) { clientMutationId } }`
    expect(completeMutation(request(query, { id: 'PR_1' }), COMMIT)?.member).toBe(member)
  })

  it.each([
    ['no JSON object', '[]'],
    ['a query', request('query { viewer { login } }')],
    [
      'two mutations',
      request(
        'mutation { a: mergePullRequest(input: {pullRequestId: "1"}) { x } b: mergePullRequest(input: {pullRequestId: "2"}) { x } }',
      ),
    ],
    ['another mutation', request('mutation { closePullRequest(input: {pullRequestId: "1"}) { x } }')],
    [
      'an auto-merge, whose commit is not that of the later merge',
      request('mutation { enablePullRequestAutoMerge(input: {pullRequestId: "1"}) { x } }'),
    ],
    [
      'a commit in the document',
      request('mutation { mergePullRequest(input: {pullRequestId: "1", expectedHeadOid: "b"}) { x } }'),
    ],
    [
      'a commit in the variables',
      request('mutation($i: I!) { mergePullRequest(input: $i) { x } }', { i: { expectedHeadOid: 'b' } }),
    ],
    ['no variable', request('mutation($i: I!) { mergePullRequest(input: $i) { x } }', {})],
  ])('is not added to %s', (_what, text) => {
    expect(completeMutation(text, COMMIT)).toBeNull()
  })

  it('is a commit', () => {
    const text = request('mutation { mergePullRequest(input: {pullRequestId: "1"}) { x } }')
    expect(completeMutation(text, '") { x } evil')).toBeNull()
  })
})

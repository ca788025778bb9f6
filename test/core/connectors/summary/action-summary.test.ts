import { expect, test } from 'vitest'
import { actionSummary } from '../../../../core/connectors/summary/action-summary.ts'

const merge = {
  action_type: 'codehost.pr.merge',
  target: 'acme/site',
  host: 'api.github.com',
  parameters: { number: 42, merge_method: 'squash' } as Record<string, unknown>,
}

test('a merge names number, repository and method, and links to the pull request', () => {
  expect(actionSummary(merge)).toEqual({
    sentence: 'Merge pull request #42 of acme/site by squash.',
    url: 'https://github.com/acme/site/pull/42',
  })
  expect(actionSummary({ ...merge, parameters: { number: 42 } })?.sentence).toBe(
    'Merge pull request #42 of acme/site.',
  )
  const other = { number: 42, other_fields: { merge_method: 'rebase' } }
  expect(actionSummary({ ...merge, parameters: other })?.sentence).toContain('by rebase')
})

test('an action without its number, an unknown action and one without a target have no summary', () => {
  expect(actionSummary({ ...merge, parameters: {} })).toBeNull()
  expect(actionSummary({ ...merge, parameters: { number: { is: 42 } } })).toBeNull()
  expect(actionSummary({ ...merge, action_type: 'codehost.unknown.thing' })).toBeNull()
  expect(actionSummary({ ...merge, target: null })).toBeNull()
})

test('the link leads to the site of the provider only, whatever the request names', () => {
  const urlOf = (changes: Partial<typeof merge>) => actionSummary({ ...merge, ...changes })?.url
  expect(urlOf({ host: 'ghe.example.com' })).toBeNull()
  expect(urlOf({ host: 'constructor' })).toBeNull()
  expect(urlOf({ target: '../evil' })).toBeNull()
  expect(urlOf({ target: '//evil.example' })).toBeNull()
  for (const target of ['a@evil.example/x?y', 'a/b#c', 'a\\b/c', 'javascript:alert(1)/x']) {
    const url = new URL(urlOf({ target }) ?? '')
    expect(url.origin).toBe('https://github.com')
    expect(url.search + url.hash + url.username).toBe('')
  }
  expect(urlOf({ parameters: { number: '../../settings' } })).toBeUndefined()
  const branch = { action_type: 'codehost.branch.delete', target: 'acme/a/..' }
  expect(urlOf({ ...branch, parameters: { ref: 'x' } })).toBeNull()
})

const sentenceOf = (action_type: string, parameters: Record<string, unknown>, target = 'acme/site') =>
  actionSummary({ ...merge, action_type, target, parameters })?.sentence

test.each([
  ['APPROVE', 'Approve pull request #42 of acme/site.'],
  ['REQUEST_CHANGES', 'Request changes to pull request #42 of acme/site.'],
  ['COMMENT', 'Comment on pull request #42 of acme/site.'],
  ['approve', 'Approve pull request #42 of acme/site.'],
  ['constructor', 'Review pull request #42 of acme/site.'],
  [undefined, 'Review pull request #42 of acme/site.'],
])('a review with the event %s says what it does', (event, sentence) => {
  expect(sentenceOf('codehost.pr.review', { number: 42, event })).toBe(sentence)
})

test('a merge names known methods only', () => {
  const by = (merge_method: string) => sentenceOf('codehost.pr.merge', { number: 42, merge_method })
  expect(by('REBASE')).toBe('Merge pull request #42 of acme/site by rebase.')
  expect(by('an administrator, after review')).toBe('Merge pull request #42 of acme/site.')
})

test('text of an agent is quoted, and cannot end its quotation', () => {
  expect(sentenceOf('codehost.issue.create', { title: 'a" of acme/other. "' })).toBe(
    String.raw`Create an issue in acme/site: "a\" of acme/other. \"".`,
  )
  expect(sentenceOf('codehost.branch.delete', { ref: 'a of acme/other, not b' })).toBe(
    'Delete "a of acme/other, not b" of acme/site.',
  )
  expect(sentenceOf('codehost.branch.delete', { ref: 'refs/heads/fix-1' })).toBe(
    'Delete refs/heads/fix-1 of acme/site.',
  )
  expect(sentenceOf('codehost.pr.merge', { number: '42 and nothing else' })).toBeUndefined()
  expect(sentenceOf('codehost.repo.delete', {}, 'acme/site in a test')).toBe(
    'Delete the repository "acme/site in a test".',
  )
})

test('a long value is cut', () => {
  const parameters = { title: 'x'.repeat(10_000) }
  const { sentence } = actionSummary({ ...merge, action_type: 'codehost.issue.create', parameters }) ?? {
    sentence: '',
  }
  expect(sentence.length).toBeLessThan(200)
})

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
  expect(urlOf({ parameters: { number: '../../settings' } })).toBe(
    'https://github.com/acme/site/pull/..%2F..%2Fsettings',
  )
})

test('a long value is cut', () => {
  const parameters = { title: 'x'.repeat(10_000) }
  const { sentence } = actionSummary({ ...merge, action_type: 'codehost.issue.create', parameters }) ?? {
    sentence: '',
  }
  expect(sentence.length).toBeLessThan(200)
})

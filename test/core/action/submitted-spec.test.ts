import { describe, expect, test } from 'vitest'
import { ActionSpec } from '../../../core/action/spec.ts'
import { SubmittedSpec } from '../../../core/action/submitted-spec.ts'

const spec = (resource: object, type = 'codehost.repo.delete', provider = 'codehost') => ({
  type,
  resource: { provider, ...resource },
})

function fieldsOf(given: object): readonly string[] {
  const result = SubmittedSpec.safeParse(given)
  return result.success ? [] : result.error.issues.map(({ path }) => path.join('.'))
}

describe('a resource of the code host', () => {
  test.each([
    [{ target: 'acme/site' }],
    [{ target: 'ACME/Site.git' }],
    [{ target: 'acme' }],
    [{ target: 'acme/site/x' }],
    [{ target: 'acme/.github' }],
    [{ target: 'acme/...x' }],
    [{ organization: 'acme', repository: 'site' }],
    [{ organization: 'Acme', repository: 'Site.git' }],
    [{ organization: 'acme' }],
    [{ repository: 'site' }],
    [{ target: 'acme/site', organization: 'ACME', repository: 'site.git' }],
    [{ target: 'Acme/Site.git', organization: 'acme', repository: 'SITE' }],
    [{ target: 'acme/site', organization: 'acme' }],
    [{ target: 'acme', organization: 'Acme' }],
    [{}],
  ])('%j is taken', (resource) => {
    expect(fieldsOf(spec(resource))).toEqual([])
  })

  test.each([
    [{ target: 'acme/site', organization: 'acme', repository: 'prod' }],
    [{ target: 'acme/site', organization: 'evil', repository: 'site' }],
    [{ target: 'acme/site', organization: 'evil' }],
    [{ target: 'acme/site', repository: 'prod' }],
    [{ target: 'acme', organization: 'acme', repository: 'site' }],
    [{ target: 'acme/' }],
    [{ target: '/acme/site' }],
    [{ target: 'acme//site' }],
    [{ target: 'acme/site/' }],
    [{ target: 'acme/./site' }],
    [{ target: 'acme/../evil' }],
    [{ target: '' }],
    [{ target: ' acme/site' }],
    [{ target: 'acme/site ' }],
    [{ target: 'acme /site' }],
    [{ target: 'acme/si\tte' }],
    [{ target: 'acme/site\n' }],
    [{ target: 'acme/site\u0000' }],
    [{ target: 'acme/\u00a0site' }],
    [{ target: 'acme/si\u200bte' }],
    [{ target: 'acme/site\u202e' }],
    [{ target: 'acme/\ufeffsite' }],
    [{ target: 'acme\\site' }],
    [{ target: 'https://github.com/acme/site' }],
  ])('%j is refused, and the message names the target', (resource) => {
    expect(fieldsOf(spec(resource))).toEqual(['resource.target'])
  })

  test.each([
    ['organization', { organization: 'acme/site', repository: 'x' }],
    ['organization', { organization: '', repository: 'site' }],
    ['organization', { organization: '..', repository: 'site' }],
    ['organization', { organization: ' acme', repository: 'site' }],
    ['organization', { organization: 'acme\u200b', repository: 'site' }],
    ['repository', { organization: 'acme', repository: 'site/x' }],
    ['repository', { organization: 'acme', repository: '/site' }],
    ['repository', { organization: 'acme', repository: '.' }],
    ['repository', { organization: 'acme', repository: '' }],
    ['repository', { organization: 'acme', repository: 'si te' }],
    ['repository', { organization: 'acme', repository: 'site\\x' }],
  ])('a %s that is not one name is refused: %j', (field, resource) => {
    expect(fieldsOf(spec(resource))).toEqual([`resource.${field}`])
  })

  test.each(['CodeHost.repo.delete', 'CODEHOST.pr.merge'])(
    'in other spellings of the type, too: %s',
    (type) => {
      expect(fieldsOf(spec({ target: 'acme/' }, type, 'x'))).toEqual(['resource.target'])
    },
  )

  test('of an unmapped request is its address', () => {
    expect(fieldsOf(spec({ target: 'api.github.com/a//b' }, 'codehost.unmapped.post'))).toEqual([])
  })

  test('that an earlier version stored is still read', () => {
    expect(ActionSpec.safeParse(spec({ target: 'acme/' })).success).toBe(true)
  })
})

test('resources of other providers are taken as they are', () => {
  for (const target of [' a ', '', 'https://x/y', 'a//b'])
    expect(fieldsOf(spec({ target, organization: 'a/b', repository: 'c' }, 'custom.x.y', 'custom'))).toEqual(
      [],
    )
})

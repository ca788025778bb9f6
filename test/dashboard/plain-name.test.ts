import { expect, test } from 'vitest'
import { nameProblem } from '../../controlplane/dashboard/labels/plain-name.ts'
import { PLAIN_NAME_RULE, PlainName } from '../../core/wire/schema/plain-name.ts'

test.each([
  ...['a', 'Z9', 'team/bot', 'a b', 'a._/-b', 'a'.repeat(253)],
  ...[' a', 'a ', '-a', 'a-', '/a', '.', '*', 'a:b', 'bad name!', 'a\n', 'a\tb', 'é', '\u202ea', "'; --"],
])('the dashboard and the API agree on the name %j', (name) => {
  const { error } = PlainName.safeParse(name)
  expect(error?.issues.map(({ message }) => message) ?? []).toEqual(
    nameProblem(name) === null ? [] : [PLAIN_NAME_RULE],
  )
  if (error !== undefined) expect(nameProblem(name)).toBe(`The name ${PLAIN_NAME_RULE}.`)
})

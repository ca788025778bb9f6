import { identityStateSql } from '../../oidc/rows.ts'

/** SQL expression for the namespace of an approval's agent; null for an agent without a namespace. */
const NAMESPACE = "case when agent like '%/%' then split_part(agent, '/', 1) end"
const ANSWERS_HERE = `exists (
  select from (values (u.role, to_jsonb(u.namespaces))
    union all select entry->>'role', entry->'namespaces' from jsonb_array_elements(u.lower_roles) as entry
  ) as held (role, namespaces)
  where held.role <> 'viewer' and (coalesce(held.namespaces, 'null') = 'null' or held.namespaces ? ${NAMESPACE}))`

/**
 * SQL condition that is true when the account `u` may give `answer` for groups of which it is not a member: the account
 * is owner or admin of all namespaces, and none of these groups has an active member.
 */
const STANDS_IN = `u.role in ('owner', 'admin') and u.namespaces is null and not exists (
  select from jsonb_array_elements_text(answer->'groups') as answered(group_name)
    join users member on group_name = any(member.groups)
  where group_name <> all(u.groups) and member.status = 'active')`

/**
 * SQL condition that is true when the account `u` with the identity `i` still has the right to give the stored
 * `answer`. The account must be active, the identity provider must not have ended its access, and the account must
 * have a role that may answer in the agent's namespace. The account must also be in the groups of the answer, or be
 * permitted to answer for groups without members.
 */
export const ANSWER_COUNTS = `u.status = 'active' and ${identityStateSql('i')} <> 'ended' and ${ANSWERS_HERE}
  and (answer->'groups' <@ to_jsonb(u.groups) or ${STANDS_IN})`

/** SQL condition that is true when every account with a stored answer still has the right to give this answer. */
export const ALL_ANSWERS_COUNT = `not exists (
  select from jsonb_array_elements(answers) as given(answer)
    join users u on u.id = answer->>'user_id' left join user_identities i on i.user_id = u.id
  where not (${ANSWER_COUNTS}))`

import { Stack, Text } from '@mantine/core'
import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'

type Sets = Pick<ApprovalCard, 'required_groups'>

/** Shows the required sets of approver groups, each with the answer that satisfies it. */
export function ApproverSets({ card }: { readonly card: Sets & Pick<ApprovalCard, 'status' | 'answers'> }) {
  if (card.required_groups.length === 0) return null
  return (
    <Stack gap={2}>
      {card.required_groups.map((set) => (
        <div key={`${set.policy} ${set.groups.join(' ')}`}>
          {setText(set)}
          {set.policy === '' ? '' : ', required by '}
          {set.policy === '' ? null : <UntrustedText text={set.policy} />}
          <Text span size="sm" c="dimmed">
            {set.answered_by === null ? stateOf(card.status) : ` · approved by ${set.answered_by}`}
          </Text>
        </div>
      ))}
      {isDistinct(card) ? <div>Each line requires a different approver.</div> : null}
    </Stack>
  )
}

/** Formats the required sets that no answer satisfies yet, such as `release and (finance or audit)`. */
export function missingText({ required_groups }: Sets): string {
  const missing = required_groups.filter(({ answered_by }) => answered_by === null)
  const texts = missing.map((set) =>
    missing.length > 1 && set.groups.length > 1 ? `(${setText(set)})` : setText(set),
  )
  return [...new Set(texts)].join(' and ')
}

function setText({ groups }: Sets['required_groups'][number]): string {
  return groups.length === 0 ? 'any approver' : groups.join(' or ')
}

function stateOf(status: ApprovalCard['status']): string {
  return status === 'pending' ? ' · missing' : ''
}

function isDistinct({ required_groups }: Sets): boolean {
  return required_groups.length > 1 && required_groups.some(({ distinct }) => distinct)
}

import { Text } from '@mantine/core'
import type { TrafficRecord } from '../../../../core/record.ts'
import { FactList } from '../../components/layout/fact-list.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'

export type Refusals = NonNullable<TrafficRecord['refusals']>

/**
 * Formats the refusals of an aggregate record, for example as `1,240 refusals, 87 targets, 14:03:10 to 14:03:59`. The
 * times are last, because table columns can truncate the text.
 */
export function RefusalsText({ refusals }: { readonly refusals: Refusals }) {
  const { count, first, last, distinct_targets: targets, more_targets: isMore } = refusals
  const counted = `${count.toLocaleString()} ${count === 1 ? 'refusal' : 'refusals'}`
  const named = `${targets.toLocaleString()}${isMore ? ' or more' : ''} ${targets === 1 && !isMore ? 'target' : 'targets'}`
  return (
    <span className="refusals">
      {counted}, {named}, <TimeText at={first} /> to <TimeText at={last} />
    </span>
  )
}

/** Shows the details of an aggregate record of refusals. */
export function RefusalFacts({ refusals }: { readonly refusals: Refusals }) {
  const { targets, distinct_targets: distinct, reasons, actions = {} } = refusals
  const isCut = distinct > targets.length
  return (
    <Panel title="Refusals">
      <Text mb="sm">
        <RefusalsText refusals={refusals} />. The gateway aggregates refusals of one agent above 60 per
        minute. Fields in which these requests differ are omitted.
      </Text>
      <FactList
        facts={[
          ['Reasons', countsText(reasons)],
          ['Actions', countsText(actions)],
          [
            isCut ? `First ${targets.length} targets` : 'Targets',
            <TargetList key="targets" targets={targets} />,
          ],
        ]}
      />
    </Panel>
  )
}

/** Formats counts with their names. A name can be untrusted text from an agent. */
function countsText(counts: Readonly<Record<string, number>>) {
  const pairs = Object.entries(counts).map(([name, count]) => `${name}: ${count.toLocaleString()}`)
  return pairs.length === 0 ? null : <UntrustedText text={pairs.join(', ')} />
}

function TargetList({ targets }: { readonly targets: readonly string[] }) {
  return targets.map((target) => (
    <div key={target} className="mono clip">
      <UntrustedText text={target === '' ? 'none' : target} />
    </div>
  ))
}

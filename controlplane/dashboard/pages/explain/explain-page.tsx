import { SegmentedControl, Stack } from '@mantine/core'
import { PageHead } from '../../components/layout/page-head.tsx'
import { useQueryState } from '../../routing/use-page-location.ts'
import { ActionSpecForm } from './action-spec-form.tsx'
import { RequestForm } from './request-form.tsx'

/** Shows how the gateway would decide a hypothetical request or action. */
export function Page() {
  const [query, change] = useQueryState()
  const isSpec = query['mode'] === 'action'
  return (
    <>
      <PageHead
        title="Explain"
        about="Shows how a request or an action would be decided, and by which rule. Nothing is sent or stored."
      >
        <SegmentedControl
          aria-label="Input"
          value={isSpec ? 'action' : 'request'}
          onChange={(mode) => change({ mode: mode === 'action' ? mode : null })}
          data={[
            { value: 'request', label: 'A request' },
            { value: 'action', label: 'An action' },
          ]}
        />
      </PageHead>
      <Stack gap="md">{isSpec ? <ActionSpecForm /> : <RequestForm />}</Stack>
    </>
  )
}

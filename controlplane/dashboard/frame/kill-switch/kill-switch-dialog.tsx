import { Modal } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { KillReply } from '../../api/shapes.ts'
import { useDeed } from '../../components/form/use-mutation.ts'
import { StopConfirm } from './confirm-step.tsx'
import { StopResult } from './result-step.tsx'
import { StopForm, type StopRequest } from './scope-form.tsx'

type Step =
  | { readonly kind: 'form' }
  | { readonly kind: 'confirm'; readonly request: StopRequest }
  | { readonly kind: 'done'; readonly request: StopRequest; readonly reply: KillReply }

/** Two steps: what and why, then the deed; at the end how many gateways have stopped. */
export function StopDialog({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const [step, setStep] = useState<Step>({ kind: 'form' })
  const stop = useDeed(async (request: StopRequest) => {
    const body = { active: true, scope: request.scope, reason: request.reason }
    setStep({ kind: 'done', request, reply: await call('POST /api/dashboard/kill-switch', { body }) })
  })
  const close = () => {
    onClose()
    stop.forget()
  }
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      onExitTransitionEnd={() => setStep({ kind: 'form' })}
      title={step.kind === 'done' ? 'Stopped' : 'Stop agents'}
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      {step.kind === 'form' ? (
        <StopForm onNext={(request) => setStep({ kind: 'confirm', request })} />
      ) : step.kind === 'confirm' ? (
        <StopConfirm
          request={step.request}
          isBusy={stop.isBusy}
          error={stop.error}
          onBack={() => setStep({ kind: 'form' })}
          onStop={() => stop.run(step.request)}
        />
      ) : (
        <StopResult reply={step.reply} scope={step.request.scope} onClose={close} />
      )}
    </Modal>
  )
}

import { Modal } from '@mantine/core'
import { useState } from 'react'
import type { KillSwitchReply } from '../../../../core/wire/kill-switch.ts'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ConfirmStep } from './confirm-step.tsx'
import { ResultStep } from './result-step.tsx'
import { type KillSwitchRequest, ScopeForm } from './scope-form.tsx'

type Step =
  | { readonly kind: 'form' }
  | { readonly kind: 'confirm'; readonly request: KillSwitchRequest }
  | { readonly kind: 'done'; readonly request: KillSwitchRequest; readonly reply: KillSwitchReply }

/** Activates the kill switch in two steps, then shows how many gateways have acknowledged it. */
export function KillSwitchDialog({
  isOpen,
  onClose,
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const [step, setStep] = useState<Step>({ kind: 'form' })
  const activate = useMutation(async (request: KillSwitchRequest) => {
    const body = { active: true, scope: request.scope, reason: request.reason }
    setStep({ kind: 'done', request, reply: await call('POST /api/dashboard/kill-switch', { body }) })
  })
  const close = () => {
    onClose()
    activate.reset()
  }
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      onExitTransitionEnd={() => setStep({ kind: 'form' })}
      title={step.kind === 'done' ? 'Kill switch active' : 'Activate the kill switch'}
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      {step.kind === 'form' ? (
        <ScopeForm onNext={(request) => setStep({ kind: 'confirm', request })} />
      ) : step.kind === 'confirm' ? (
        <ConfirmStep
          request={step.request}
          isBusy={activate.isBusy}
          error={activate.error}
          onBack={() => setStep({ kind: 'form' })}
          onConfirm={() => activate.run(step.request)}
        />
      ) : (
        <ResultStep reply={step.reply} scope={step.request.scope} onClose={close} />
      )}
    </Modal>
  )
}

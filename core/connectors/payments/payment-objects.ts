/** Catalogue rows for sources, payment methods, balances, records and reviews. */
export const PAYMENT_OBJECTS = `
  GET    /v1/application_fees                                          application_fee.list                         read  low
  GET    /v1/application_fees/{id}                                     application_fee.get                          read  low
  GET    /v1/application_fees/{id}/refunds                             application_fee_refund.list                  read  low
  POST   /v1/application_fees/{id}/refunds                             application_fee_refund.create                write high   amount +financial_impact
  GET    /v1/application_fees/{fee_id}/refunds/{id}                    application_fee_refund.get                   read  low
  POST   /v1/application_fees/{fee_id}/refunds/{id}                    application_fee_refund.update                write low
  GET    /v1/balance_settings                                          balance_setting.get                          read  low
  POST   /v1/balance_settings                                          balance_setting.update                       write high   payments
  GET    /v1/climate/orders                                            climate_order.list                           read  low
  POST   /v1/climate/orders                                            climate_order.create                         write high   amount,currency,product +financial_impact
  GET    /v1/climate/orders/{id}                                       climate_order.get                            read  low
  POST   /v1/climate/orders/{id}                                       climate_order.update                         write medium
  POST   /v1/climate/orders/{id}/cancel                                climate_order.cancel                         write medium
  GET    /v1/climate/suppliers                                         climate_supplier.list                        read  low
  GET    /v1/climate/suppliers/{id}                                    climate_supplier.get                         read  low
  GET    /v1/confirmation_tokens/{id}                                  confirmation_token.get                       read  low
  GET    /v1/customers/{customer_id}/balance_transactions/{id}         customer_balance_transaction.get             read  low
  POST   /v1/customers/{customer_id}/balance_transactions/{id}         customer_balance_transaction.update          write medium
  GET    /v1/customers/{id}/cash_balance                               cash_balance.get                             read  low
  POST   /v1/customers/{id}/cash_balance                               cash_balance.update                          write medium
  GET    /v1/customers/{id}/cash_balance_transactions                  cash_balance_transaction.list                read  low
  GET    /v1/customers/{customer_id}/cash_balance_transactions/{id}    cash_balance_transaction.get                 read  low
  POST   /v1/customers/{id}/funding_instructions                       customer.create_funding_instructions         write medium bank_transfer,currency
  GET    /v1/customers/{customer_id}/payment_methods/{id}              payment_method.get                           read  low
  GET    /v1/customers/{id}/sources                                    customer_source.list                         read  low
  POST   /v1/customers/{id}/sources                                    customer_source.create                       write high   source
  GET    /v1/customers/{customer_id}/sources/{id}                      customer_source.get                          read  low
  POST   /v1/customers/{customer_id}/sources/{id}                      customer_source.update                       write medium
  DELETE /v1/customers/{customer_id}/sources/{id}                      customer_source.delete                       write high
  POST   /v1/customers/{customer_id}/sources/{id}/verify               customer_source.verify                       write medium
  GET    /v1/exchange_rates                                            exchange_rate.list                           read  low
  GET    /v1/exchange_rates/{id}                                       exchange_rate.get                            read  low
  GET    /v1/forwarding/requests                                       forwarding_request.list                      read  low
  POST   /v1/forwarding/requests                                       forwarding_request.create                    write high   url
  GET    /v1/forwarding/requests/{id}                                  forwarding_request.get                       read  low
  GET    /v1/mandates/{id}                                             mandate.get                                  read  low
  GET    /v1/payment_attempt_records                                   payment_attempt_record.list                  read  low
  GET    /v1/payment_attempt_records/{id}                              payment_attempt_record.get                   read  low
  GET    /v1/payment_intents/{id}/amount_details_line_items            payment_intent.list_lines                    read  low
  GET    /v1/payment_method_configurations                             payment_method_configuration.list            read  low
  POST   /v1/payment_method_configurations                             payment_method_configuration.create          write medium
  GET    /v1/payment_method_configurations/{id}                        payment_method_configuration.get             read  low
  POST   /v1/payment_method_configurations/{id}                        payment_method_configuration.update          write medium
  GET    /v1/payment_method_domains                                    payment_method_domain.list                   read  low
  POST   /v1/payment_method_domains                                    payment_method_domain.create                 write medium
  GET    /v1/payment_method_domains/{id}                               payment_method_domain.get                    read  low
  POST   /v1/payment_method_domains/{id}                               payment_method_domain.update                 write medium
  POST   /v1/payment_method_domains/{id}/validate                      payment_method_domain.validate               write low
  GET    /v1/payment_records                                           payment_record.list                          read  low
  POST   /v1/payment_records/report_payment                            payment_record.report_payment                write high   amount_requested,customer_details +financial_impact
  GET    /v1/payment_records/{id}                                      payment_record.get                           read  low
  POST   /v1/payment_records/{id}/report_payment_attempt               payment_record.report_payment_attempt        write medium
  POST   /v1/payment_records/{id}/report_payment_attempt_canceled      payment_record.report_payment_attempt_canceled write medium
  POST   /v1/payment_records/{id}/report_payment_attempt_failed        payment_record.report_payment_attempt_failed write medium
  POST   /v1/payment_records/{id}/report_payment_attempt_guaranteed    payment_record.report_payment_attempt_guaranteed write medium
  POST   /v1/payment_records/{id}/report_payment_attempt_informational payment_record.report_payment_attempt_informational write medium
  POST   /v1/payment_records/{id}/report_refund                        payment_record.report_refund                 write high   amount +financial_impact
  GET    /v1/radar/early_fraud_warnings                                radar_early_fraud_warning.list               read  low
  GET    /v1/radar/early_fraud_warnings/{id}                           radar_early_fraud_warning.get                read  low
  POST   /v1/radar/payment_evaluations                                 radar_payment_evaluation.create              write medium
  GET    /v1/radar/value_list_items                                    radar_value_list_item.list                   read  low
  POST   /v1/radar/value_list_items                                    radar_value_list_item.create                 write high   value_list,value
  GET    /v1/radar/value_list_items/{id}                               radar_value_list_item.get                    read  low
  DELETE /v1/radar/value_list_items/{id}                               radar_value_list_item.delete                 write high
  GET    /v1/radar/value_lists                                         radar_value_list.list                        read  low
  POST   /v1/radar/value_lists                                         radar_value_list.create                      write high   alias,name
  GET    /v1/radar/value_lists/{id}                                    radar_value_list.get                         read  low
  POST   /v1/radar/value_lists/{id}                                    radar_value_list.update                      write medium
  DELETE /v1/radar/value_lists/{id}                                    radar_value_list.delete                      write high
  GET    /v1/reporting/report_runs                                     report_run.list                              read  low
  POST   /v1/reporting/report_runs                                     report_run.create                            write medium
  GET    /v1/reporting/report_runs/{id}                                report_run.get                               read  low
  GET    /v1/reporting/report_types                                    report_type.list                             read  low
  GET    /v1/reporting/report_types/{id}                               report_type.get                              read  low
  GET    /v1/reviews                                                   review.list                                  read  low
  GET    /v1/reviews/{id}                                              review.get                                   read  low
  POST   /v1/reviews/{id}/approve                                      review.approve                               write high
  GET    /v1/setup_attempts                                            setup_attempt.list                           read  low
  POST   /v1/setup_intents/{id}/verify_microdeposits                   setup_intent.verify_microdeposits            write medium
  GET    /v1/sigma/scheduled_query_runs                                scheduled_query_run.list                     read  low
  GET    /v1/sigma/scheduled_query_runs/{id}                           scheduled_query_run.get                      read  low
  POST   /v1/sources                                                   source.create                                write medium type
  GET    /v1/sources/{id}                                              source.get                                   read  low
  POST   /v1/sources/{id}                                              source.update                                write medium
  GET    /v1/sources/{id}/source_transactions                          source.list_transactions                     read  low
  POST   /v1/sources/{id}/verify                                       source.verify                                write medium
  GET    /v1/three_d_secure/authentications                            three_d_secure_authentication.list           read  low
  POST   /v1/three_d_secure/authentications                            three_d_secure_authentication.create         write medium
  GET    /v1/three_d_secure/authentications/{id}                       three_d_secure_authentication.get            read  low
  POST   /v1/three_d_secure/authentications/{id}/cancel                three_d_secure_authentication.cancel         write medium
  POST   /v1/three_d_secure/authentications/{id}/submit                three_d_secure_authentication.submit         write medium
  POST   /v1/tokens                                                    token.create                                 write high
  GET    /v1/tokens/{id}                                               token.get                                    read  low
  GET    /v1/topups                                                    topup.list                                   read  low
  POST   /v1/topups                                                    topup.create                                 write high   amount,currency +financial_impact
  GET    /v1/topups/{id}                                               topup.get                                    read  low
  POST   /v1/topups/{id}                                               topup.update                                 write medium
  POST   /v1/topups/{id}/cancel                                        topup.cancel                                 write medium
  GET    /v1/transfers/{transfer_id}/reversals/{id}                    transfer_reversal.get                        read  low
  POST   /v1/transfers/{transfer_id}/reversals/{id}                    transfer_reversal.update                     write low
`

"""What Eddy changes inside aiokafka: every private access stands here, and a test pins each."""

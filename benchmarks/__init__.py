"""What Eddy costs beside plain aiokafka, Quix Streams and naive Faust, measured in one run on one machine."""
